#!/usr/bin/env python3
"""A hook for session_before_compact: another model, behind any command, writes the summary.

The command stands in `args` of the hook's settings. It gets the conversation and what to do with it on
its standard input, and answers with the summary on its standard output:

    hooks:
      - name: cheap summaries
        events: [session_before_compact]
        command: [python3, /path/to/compact_with_cli.py]
        args: [ollama, run, qwen3:4b]
        timeout: 300

When the command fails or has nothing to say, this says why and fails. regrow tells so, and makes the
summary as it always does; nothing is lost.
"""

import json
import subprocess
import sys

INSTRUCTIONS = """Summarise the conversation above for the assistant that will go on with it and sees
nothing else of it. Keep exact names of files, commands and errors. Use these headings: Goal,
Constraints & Preferences, Progress, Key Decisions, Next Steps, Critical Context. Write only the summary."""

# Of a long tool result only the beginning says what it was about.
LONGEST_RESULT = 2000


def give_up(reason):
    """Tells the reason; the exit code says that this hook has failed."""
    print(f"no summary by this hook: {reason}", file=sys.stderr)
    sys.exit(1)


def text_of(content):
    """The readable part of a message's content: a text, or a list of blocks."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content or []:
        if block.get("type") == "text":
            parts.append(block["text"])
        elif block.get("type") == "toolCall":
            parts.append(f"{block['name']}({json.dumps(block['arguments'], ensure_ascii=False)})")
    return "\n".join(parts)


def line_of(message):
    """A message as the model reads it."""
    role = message["role"]
    if role == "toolResult":
        text = text_of(message["content"])
        rest = len(text) - LONGEST_RESULT
        if rest > 0:
            text = f"{text[:LONGEST_RESULT]}\n[... {rest} more characters]"
        return f"[Result of {message.get('toolName', 'a tool')}]: {text}"
    if role == "bashExecution":
        return f"[User ran]: {message['command']}\n{message['output'][:LONGEST_RESULT]}"
    if role in ("compactionSummary", "branchSummary"):
        return f"[Earlier summary]: {message['summary']}"
    return f"[{role.capitalize()}]: {text_of(message.get('content'))}"


def main():
    command = sys.argv[1:]
    if not command:
        give_up("no command is named in `args` of the settings")
    event = json.load(sys.stdin)
    preparation = event["preparation"]
    messages = preparation["messagesToSummarize"] + preparation["turnPrefixMessages"]
    parts = []
    if preparation.get("previousSummary"):
        parts.append(f"[Summary of what came before]: {preparation['previousSummary']}")
    parts.extend(line_of(message) for message in messages)
    parts.append("---\n" + INSTRUCTIONS)
    if event.get("customInstructions"):
        parts.append(f"Look at this above all: {event['customInstructions']}")
    try:
        asked = subprocess.run(
            command, input="\n\n".join(parts), capture_output=True, text=True, check=False
        )
    except OSError as error:
        give_up(f"`{command[0]}` cannot be started: {error.strerror}")
    if asked.returncode != 0:
        give_up(f"`{command[0]}` failed: {asked.stderr.strip()[-300:] or asked.returncode}")
    summary = asked.stdout.strip()
    if not summary:
        give_up(f"`{command[0]}` said nothing")
    compaction = {
        "summary": summary,
        "firstKeptEntryId": preparation["firstKeptEntryId"],
        "tokensBefore": preparation["tokensBefore"],
        "details": {**preparation["fileOps"], "writtenBy": command[0]},
    }
    json.dump({"compaction": compaction}, sys.stdout)


if __name__ == "__main__":
    main()
