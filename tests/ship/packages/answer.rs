// answer.py in Rust.
use sampling::{Chain, Grammar, Result, Vocab};

fn main() -> Result<()> {
    let schema = r#"{"type": "object", "properties": {"name": {"enum": ["Ada", "Grace"]}, "job": {"enum": ["maths", "ships"]}},
                     "required": ["name", "job"], "additionalProperties": false}"#;
    let pieces: Vec<String> = (32..127u8).map(|byte| char::from(byte).to_string()).chain([String::new()]).collect();
    let model = |n: usize| (0..96).map(|i| ((i * 7919 + n * 10007) % 1000) as f32 / 250.0).collect::<Vec<_>>();
    let mut rows = (0..).map(model);

    // in five lines:
    let (vocab, grammar) = (Vocab::new(&pieces, &[95])?, Grammar::json_schema(schema, "compact")?);
    let mut chain = Chain::with_grammar(&[("seed", "4")], &vocab, &grammar)?;
    while let token @ 0..=94 = chain.sample(&rows.next().unwrap())? {
        print!("{}", pieces[token as usize]);
    }

    Ok(())
}
