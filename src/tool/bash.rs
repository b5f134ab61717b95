//! The `bash` tool: a command run by [`process`], its end told in words (SPEC A2).

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::process::{self, End, Ran, Run};
use super::truncate::Limits;
use super::{Effect, Tool, ToolContext, ToolError, ToolOutput};
use crate::message::Block;
use crate::provider::ToolSpec;

/// Seconds that a command may run when the call does not say.
const USUAL_SECONDS: f64 = 600.0;

/// Most seconds that a call may ask for: a day.
const MOST_SECONDS: f64 = 86_400.0;

pub(crate) struct BashTool;

struct Call {
    command: String,
    seconds: f64,
}

impl Call {
    fn parse(arguments: &Value) -> Result<Self, ToolError> {
        let arguments = Arguments::new("bash", arguments)?;
        let command = arguments.filled_text(&["command", "cmd"])?.to_owned();
        if command.contains('\0') {
            return Err(arguments.error("command", "must not hold NUL characters"));
        }
        let seconds = arguments.seconds(&["timeout"], MOST_SECONDS)?.unwrap_or(USUAL_SECONDS);
        Ok(Self { command, seconds })
    }
}

impl Tool for BashTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "bash".to_owned(),
            description: include_str!("../../prompts/tools/bash.md").trim_end().to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "Command to run"},
                    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds that it may run (default 600)"}
                },
                "required": ["command"]
            }),
        }
    }

    fn effect(&self, arguments: &Value, _cx: &ToolContext) -> Result<Effect, ToolError> {
        Ok(Effect::Command { command: Call::parse(arguments)?.command })
    }

    fn run(
        &self,
        arguments: Value,
        cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let call = Call::parse(&arguments)?;
            if cx.cancel.is_cancelled() {
                return Err(super::blocking::stopped());
            }
            let run = Run {
                command: call.command,
                cwd: cx.cwd.clone(),
                timeout: Some(Duration::from_secs_f64(call.seconds)),
                limits: Limits::for_tokens(cx.max_result_tokens),
            };
            let ran = process::run(run, cx.cancel, cx.progress).await.map_err(|error| {
                let cwd = cx.cwd.display();
                ToolError::new(format!("bash: the command could not be started in {cwd}: {error}"))
            })?;
            told(ran, call.seconds)
        })
    }
}

fn told(ran: Ran, limit: f64) -> Result<ToolOutput, ToolError> {
    let took = took(ran.elapsed);
    let (summary, problem) = match ran.end {
        End::Exited(0) => (took, None),
        End::Exited(code) => {
            (format!("exit {code} · {took}"), Some(format!("Command exited with code {code}")))
        }
        End::Signalled(signal) => (
            format!("signal {signal} · {took}"),
            Some(format!("Command was ended by signal {signal}{}", signal_name(signal))),
        ),
        End::TimedOut => (
            format!("timed out · {took}"),
            Some(format!(
                "Command ran longer than {limit} s and was stopped; give a longer timeout if it needs more"
            )),
        ),
        End::Cancelled => {
            (format!("stopped · {took}"), Some("Command was stopped by the user".to_owned()))
        }
    };
    let mut text = ran.output.trim_end_matches('\n').to_owned();
    if text.is_empty() {
        text.push_str("(no output)");
    }
    if ran.ended_jobs {
        text.push_str(
            "\n\n[Background jobs of this command were ended with it; start those that must go on \
             with nohup or setsid, their output in a file]",
        );
    }
    let details = json!({
        "summary": summary,
        "exitCode": ran.exit_code(),
        "seconds": (ran.elapsed.as_secs_f64() * 100.0).round() / 100.0,
        "truncated": ran.truncated,
        "cancelled": ran.cancelled(),
        "fullOutputPath": ran.full_output_path.map(|path| path.to_string_lossy().into_owned()),
    });
    match problem {
        None => Ok(ToolOutput { content: vec![Block::text(text)], details: Some(details) }),
        Some(problem) => {
            Err(ToolError { message: format!("{text}\n\n[{problem}]"), details: Some(details) })
        }
    }
}

/// `0.3 s`, `42 s`, `3 min 5 s`.
fn took(elapsed: Duration) -> String {
    match elapsed.as_secs_f64() {
        seconds if seconds < 9.95 => format!("{seconds:.1} s"),
        seconds if seconds < 119.5 => format!("{seconds:.0} s"),
        seconds => {
            let seconds = seconds.round() as u64;
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
    }
}

const fn signal_name(signal: i32) -> &'static str {
    match signal {
        2 => " (SIGINT)",
        6 => " (SIGABRT)",
        9 => " (SIGKILL; it may have used too much memory)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}
