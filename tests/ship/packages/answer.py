# JSON by a schema out of a model that is only made up, with what the package brings; the other answer.* do the same.
from sampling import Chain, Grammar, Vocab

schema = '{"type": "object", "properties": {"name": {"enum": ["Ada", "Grace"]}, "job": {"enum": ["maths", "ships"]}}, ' \
         '"required": ["name", "job"], "additionalProperties": false}'
pieces = [chr(i) for i in range(32, 127)] + [None]  # the last one is the end


def model(text):
    return [(i * 7919 + len(text) * 10007) % 1000 / 250 for i in range(96)]


# in five lines:
vocab, text = Vocab(pieces, eos=95), ""
chain = Chain(vocab, Grammar.from_json_schema(schema, "compact"), seed=4)
while (token := chain.sample(model(text))) != 95:
    text += pieces[token]
print(text)
