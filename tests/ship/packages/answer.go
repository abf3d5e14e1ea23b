// answer.py in Go.
package main

import (
	"fmt"
	"log"
	"sampling"
)

func main() {
	schema := `{"type": "object", "properties": {"name": {"enum": ["Ada", "Grace"]}, "job": {"enum": ["maths", "ships"]}},
		"required": ["name", "job"], "additionalProperties": false}`
	pieces, row, said := make([]string, 96), make([]float32, 96), ""
	for i := 0; i < 95; i++ {
		pieces[i] = string(rune(32 + i))
	}
	vocab, err := sampling.NewVocab(pieces, 95)
	check(err)
	grammar, err := sampling.JSONSchema(schema, "compact")
	check(err)
	chain, err := sampling.NewChain(map[string]string{"seed": "4"}, nil)
	check(err)
	first, err := sampling.NewGrammar(vocab, grammar)
	check(err)
	check(chain.Insert(0, first))
	for n := 0; ; n++ {
		for i := range row {
			row[i] = float32((i*7919+n*10007)%1000) / 250
		}
		token, err := chain.Sample(row)
		check(err)
		if token == 95 {
			break
		}
		said += pieces[token]
	}
	fmt.Println(said)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
