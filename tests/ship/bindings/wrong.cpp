// What must not compile: run.sh asks the compiler, and wants an error for each line that says so, and for no other.
#define SAMPLING_GRAMMAR
#define SAMPLING_STOP
#define SAMPLING_VOCAB
#include "sampling.hpp"

using namespace sampling;

static std::vector<float> row() { return { 1.0f, 3.0f }; }

void slices(std::vector<sampler> &all, matcher &m, chain &c)
{
    all.push_back(m.copy());                                         // wrong
    sampler one = std::move(m);                                      // wrong
    static_cast<sampler &>(c) = std::move(m);                        // wrong
    std::swap(static_cast<sampler &>(c), static_cast<sampler &>(m)); // wrong
    c = std::move(m);                                                // wrong
    sampler none;                                                    // wrong
}

void copies(chain &c, matcher &m, member &s, text &t)
{
    chain two = c;       // wrong
    matcher other = m;   // wrong
    member third = s;    // wrong
    c = two;             // wrong
    c.insert(0, s);      // wrong
    text other_text = t; // wrong
    c.insert(0, std::move(s));
    c.insert(0, m.copy());
}

void temporaries(chain &c, matcher &m)
{
    draft d;
    d.tokens = m.draft(); // wrong
    d.tokens = { 1, 2 };  // wrong
    d.probs = row();      // wrong
    batch_options how;
    how.mask = m.mask();            // wrong
    logits last(row());             // wrong
    logits list = { 1.0f, 3.0f };   // wrong
    span<const float> part = row(); // wrong
    passed<logits> kept = row();
    c.sample(kept);                   // wrong
    m.mask(std::vector<uint32_t>(1)); // wrong
    c.sample(row(), m.mask());
    guide(row(), row(), 1.5f, row()); // wrong
    guide(row(), row(), 1.5f);
    c.accept({ 1, 2 });
    std::vector<samp_token> named = m.draft();
    d.tokens = named;
}

void numbers(chain &c, matcher &m, text &t)
{
    c.accept(3.9);        // wrong
    c.accept(2.0f);       // wrong
    c.accept(true);       // wrong
    c.rollback(1.5);      // wrong
    c.set_position(1e30); // wrong
    c.prev(2.5);          // wrong
    m.draft(nullptr);     // wrong
    m.prepare("1");       // wrong
    t.push(1.5);          // wrong
    t.push(true);         // wrong
    c.accept('a');
    c.rollback(2LL);
}

void kinds(chain &c, const draft &d)
{
    std::vector<int64_t> wide = { 1, 2 };
    c.accept(wide);         // wrong
    vocab::from_gguf(wide); // wrong
    std::vector<int> whole_logits = { 1, 2 };
    c.sample(whole_logits); // wrong
    const std::vector<uint32_t> fixed(1);
    span<uint32_t> writes = fixed;     // wrong
    c.verify(row(), d, method::block); // wrong, without SAMPLING_DRAFTS
    const chain always(chain::settings{});
    always.accept(1);     // wrong
    always.sample(row()); // wrong
}
