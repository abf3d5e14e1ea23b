//! Requests in the JSON of other programs.
use crate::*;

/// The program whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    OpenAi,
    Vllm,
    Transformers,
    LlamaServer,
    Ollama,
    Anthropic,
    SgLang,
}

/// Settings by name, with the vocabulary that some samplers need.
pub(crate) struct Settings<'a> {
    pub(crate) raw: *mut ffi::samp_settings,
    borrows: PhantomData<&'a Vocab>,
}

impl<'a> Settings<'a> {
    pub(crate) fn new(settings: &[(&str, &str)], vocab: Option<&'a Vocab>) -> Result<Self> {
        let own = Settings { raw: unsafe { ffi::samp_settings_init() }, borrows: PhantomData };
        let mut field = ptr::null();
        for (name, value) in settings {
            let (name, value) = (text(name)?, text(value)?);
            let status = unsafe { ffi::samp_settings_set(own.raw, name.as_ptr(), value.as_ptr(), &mut field) };
            if status < 0 {
                return Err(Error::new(status, field)); // which may be the name itself
            }
        }
        if let Some(vocab) = vocab {
            done(unsafe { ffi::samp_settings_use_vocab(own.raw, vocab.raw) })?;
        }
        Ok(own)
    }

    pub(crate) fn chain(&self) -> Result<Chain<'a>> {
        let (mut field, mut status) = (ptr::null(), 0);
        unsafe {
            let params = ffi::samp_settings_params(self.raw);
            let wrong = ffi::samp_check_params(params, &mut field);
            if wrong < 0 {
                return Err(Error::new(wrong, field));
            }
            let raw = ffi::samp_chain_from_params(params, &mut status);
            if raw.is_null() { Err(Error::new(status, ptr::null())) } else { Sampler::made(raw).map(Chain) }
        }
    }
}

impl Drop for Settings<'_> {
    fn drop(&mut self) {
        unsafe { ffi::samp_settings_free(self.raw) }
    }
}

/// A request to another program: chains by its settings, texts up to its stops, and what it asks for beside them.
pub struct Request<'a> {
    settings: Settings<'a>,
    /// What the caller has to see to: the prompt, limits, guidance, beams, log-probabilities; `samp_request` says more.
    pub asks: ffi::samp_request,
}

impl<'a> Request<'a> {
    /// By the program's names, defaults and ranges. handled: fields that the caller sees to. defaults: settings that no request has,
    /// such as n_vocab, or a seed for requests without one.
    pub fn new(peer: Peer, json: &str, handled: &[&str], defaults: &[(&str, &str)], vocab: Option<&'a Vocab>) -> Result<Self> {
        let (settings, json, handled) = (Settings::new(defaults, vocab)?, text(json)?, Texts::of(handled)?);
        let mut asks: ffi::samp_request = unsafe { std::mem::zeroed() };
        let status = unsafe { ffi::samp_settings_from(settings.raw, peer as ffi::samp_peer, json.as_ptr(), handled.as_ptr(), &mut asks) };
        if status == 0 {
            return Ok(Request { settings, asks });
        }
        let (field, message) = (owned(asks.field.as_ptr()), owned(asks.error.message.as_ptr()));
        Err(Error { text: format!("{field}: {message}"), ..Error::named(status, &field) })
    }

    pub fn chain(&self) -> Result<Chain<'a>> {
        self.settings.chain()
    }

    /// The text up to the request's stops.
    pub fn text(&self, vocab: &'a Vocab) -> Result<Text<'a>> {
        let mut status = 0;
        let raw = unsafe { ffi::samp_text_from_settings(self.settings.raw, vocab.raw, &mut status) };
        if raw.is_null() { Err(Error::named(status, "stop")) } else { Ok(Text { raw, borrows: PhantomData }) }
    }
}
