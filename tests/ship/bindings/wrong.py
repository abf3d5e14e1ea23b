"""What the types of sampling.pyi refuse: each comment must be needed. Nobody runs this."""
from sampling import Chain, Constraint, Grammar, Matcher, Ngram, Text, Vocab, Watermark, sample_batch

chain = Chain(3)
number: str = chain.sample([1.0])  # type: ignore
pair: int = chain.sample([1.0], logprobs=3)  # type: ignore
tokens: list[int] = chain.verify([[1.0]], [], logprobs=0)  # type: ignore
chain.verify([[1.0]], [], method="fast")  # type: ignore
Chain.from_request("bing", {})  # type: ignore
Matcher("abc", Grammar.from_regex("a"))  # type: ignore
Vocab([1, 2])  # type: ignore
sample_batch(chain, [[1.0]])  # type: ignore
Constraint.banned_pattern("a+")  # type: ignore
Constraint.thinking([([1], [2])], "5")  # type: ignore
Watermark(5, "green")  # type: ignore
chain.rollback("1")  # type: ignore
Ngram().accept("12")  # type: ignore
Text(5, ["stop"])  # type: ignore
Text(Vocab(["a"])).push([1])  # type: ignore
