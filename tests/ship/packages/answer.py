# JSON by a schema out of a model that is only made up, with what the package brings; the other answer.* do the same.
from sampling import Chain, Grammar, Vocab

schema = '{"type": "object", "properties": {"name": {"enum": ["Ada", "Grace"]}, "job": {"enum": ["maths", "ships"]}}, ' \
         '"required": ["name", "job"], "additionalProperties": false}'
vocab, tokens = Vocab([chr(i) for i in range(32, 127)] + [None], eos=95), []
chain = Chain(vocab, Grammar.from_json_schema(schema, "compact"), seed=4)
while 95 not in tokens:
    tokens.append(chain.sample([(i * 7919 + len(tokens) * 10007) % 1000 / 250 for i in range(96)]))
print("".join(chr(32 + token) for token in tokens[:-1]))
