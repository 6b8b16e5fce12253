//! The examples reach what they promise, from their fixed seeds.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::duplicate_mod, reason = "each example is a program of its own with the same support")]

#[path = "../examples/autoencoder.rs"]
#[allow(dead_code, reason = "the main function is not called here")]
mod autoencoder;
#[path = "../examples/char_lm.rs"]
#[allow(dead_code, reason = "the main function is not called here")]
mod char_lm;
#[path = "../examples/digits_conv.rs"]
#[allow(dead_code, reason = "the main function is not called here")]
mod digits_conv;
#[path = "../examples/digits_mlp.rs"]
#[allow(dead_code, reason = "the main function is not called here")]
mod digits_mlp;
#[path = "../examples/lora_llama.rs"]
#[allow(dead_code, reason = "the main function is not called here")]
mod lora_llama;

#[test]
fn the_linear_network_reads_more_than_97_percent_of_the_digits() {
    let accuracy = digits_mlp::run().unwrap();
    assert!(accuracy > 0.97, "{accuracy}");
}

#[test]
fn the_convolutional_network_reads_more_than_98_percent_of_the_digits() {
    let accuracy = digits_conv::run().unwrap();
    assert!(accuracy > 0.98, "{accuracy}");
}

#[test]
fn the_autoencoder_beats_the_mean_digit_by_far() {
    let (error, plain) = autoencoder::run().unwrap();
    assert!(error < plain / 3.0, "{error} {plain}");
}

#[test]
fn the_language_model_learns_the_text() {
    let (first, last, text) = char_lm::run().unwrap();
    assert!(first > 2.5 && last < 1.8, "{first} {last}");
    assert!(text.starts_with("The river ") && text.chars().count() == 70, "{text}");
}

#[test]
fn lora_learns_with_few_numbers_and_can_be_fused() {
    let report = lora_llama::run().unwrap();
    let ((first, last), (all, learnt)) = (report.losses, report.counts);
    assert!(last < first / 3.0, "{first} {last}");
    assert!(learnt * 2 < all, "{learnt} of {all}");
    assert!(report.fused < 1e-2, "{}", report.fused);
}
