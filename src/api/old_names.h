/* Names of before 2.0.0, good for all of 2.x. samp_init_X makes a sampler; samp_X_init makes an object that has
   functions of its own, samp_X_..., and samp_X_free frees it. The names below broke that rule. Here they are macros:
   in C and C++ each is the function with the new name. The shared library has them as symbols too. With
   SAMP_NO_OLD_NAMES they are not there, and a compiler finds where a program still uses one. */
#ifndef SAMP_NO_OLD_NAMES
#define samp_settings_new          samp_settings_init
#define samp_random_sample_create  samp_random_sample_init
#define samp_random_sample_destroy samp_random_sample_free
#define samp_llama_vocab           samp_llama_vocab_init
#define samp_gpu_create            samp_gpu_init
#endif
