// answer.py in Rust.
use sampling::{Chain, Grammar, Result, Sampler, Vocab};

fn main() -> Result<()> {
    let schema = r#"{"type": "object", "properties": {"name": {"enum": ["Ada", "Grace"]}, "job": {"enum": ["maths", "ships"]}},
                     "required": ["name", "job"], "additionalProperties": false}"#;
    let letters: Vec<u8> = (32..127).collect();
    let pieces: Vec<&[u8]> = letters.chunks(1).chain([&[][..]]).collect();
    let (vocab, grammar, mut tokens) = (Vocab::new(&pieces, &[95])?, Grammar::json_schema(schema, "compact")?, vec![]);
    let mut chain = Chain::new(&[("seed", "4")])?;
    chain.insert(0, Sampler::grammar(&vocab, &grammar)?)?;
    while tokens.last() != Some(&95) {
        let row: Vec<f32> = (0..96).map(|i| ((i * 7919 + tokens.len() * 10007) % 1000) as f32 / 250.0).collect();
        tokens.push(chain.sample(&row)?);
    }
    println!("{}", tokens[..tokens.len() - 1].iter().map(|&token| letters[token as usize] as char).collect::<String>());
    Ok(())
}
