// answer.py in Go.
package main

import (
	"fmt"
	"sampling"
)

const schema = `{"type": "object", "properties": {"name": {"enum": ["Ada", "Grace"]}, "job": {"enum": ["maths", "ships"]}},
	"required": ["name", "job"], "additionalProperties": false}`

var pieces = make([]string, 96) // the last one is the end

func model(n int) []float32 {
	row := make([]float32, 96)
	for i := range row {
		row[i] = float32((i*7919+n*10007)%1000) / 250
	}
	return row
}

func main() {
	for i := 0; i < 95; i++ {
		pieces[i] = string(rune(32 + i))
	}

	// in five lines:
	vocab := sampling.Must(sampling.NewVocab(pieces, 95))
	chain := sampling.Must(sampling.NewChain(map[string]string{"seed": "4"}, vocab, sampling.Must(sampling.JSONSchema(schema, "compact"))))
	for token, n := sampling.Must(chain.Sample(model(0))), 1; token != 95; token, n = sampling.Must(chain.Sample(model(n))), n+1 {
		fmt.Print(pieces[token])
	}
}
