//! Measures how much of what killed sessions knew reaches the next one, at ten moments: `cargo xtask bench-recall`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a report for the person who asked for it")]

use std::process::ExitCode;

use end_to_end::client::Client;
use end_to_end::recall::{self, Fact, IN_CONTEXT, IN_FILE, MAX_CONTEXT, Recall, moments::MOMENTS};

fn main() -> ExitCode {
    let client = match Client::find_or_install() {
        Ok(client) => client,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let (options, only): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let is_verbose = options.iter().any(|option| option == "--verbose");
    println!("client {}; facts found again of those known at the kill\n", client.version);
    println!("{:<26} {:>9} {:>9} {:>10} {:>8}", "killed", "hand-off", "context", "characters", "bytes");
    let mut recalls = Vec::new();
    for moment in MOMENTS.iter().filter(|moment| only.iter().all(|word| moment.name.contains(word.as_str())))
    {
        let recall = recall::measure(&client, moment);
        let all = moment.facts.len();
        let found = |missing: Vec<&Fact>| format!("{} of {all}", all - missing.len());
        println!(
            "{:<26} {:>9} {:>9} {:>10} {:>8}",
            moment.name,
            found(recall.missing_in_file()),
            found(recall.missing_in_context()),
            recall.context_length(),
            recall.file.len()
        );
        for (place, missing) in
            [("hand-off", recall.missing_in_file()), ("context", recall.missing_in_context())]
        {
            for fact in missing {
                println!("  not in the {place}: {:?} {:?}", fact.kind, fact.phrase);
            }
        }
        if is_verbose {
            println!("--- context\n{}\n--- hand-off\n{}---", recall.context, recall.file);
        }
        recalls.push(recall);
    }
    let file = recall::percent(&recalls, Recall::missing_in_file);
    let context = recall::percent(&recalls, Recall::missing_in_context);
    let longest = recalls.iter().map(Recall::context_length).max().unwrap_or(0);
    println!(
        "\nhand-off {file} % (at least {IN_FILE} %), context {context} % (at least {IN_CONTEXT} %) in at most {longest} characters (limit {MAX_CONTEXT})"
    );
    if file >= IN_FILE && context >= IN_CONTEXT && longest <= MAX_CONTEXT {
        ExitCode::SUCCESS
    } else {
        eprintln!("error: too little is found again");
        ExitCode::FAILURE
    }
}
