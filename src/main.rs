//! The program: reads the command line, runs, and turns an error into a sentence and an exit code.

use std::process::ExitCode;

use clap::Parser;
use regrow::cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match regrow::startup::run(cli) {
        Ok(code) => code,
        Err(error) => {
            regrow::startup::report(&error);
            ExitCode::FAILURE
        }
    }
}
