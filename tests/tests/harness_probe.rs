//! Probe.
use end_to_end::{fake_api::*, story::with_sandbox, wiring::RawHook};
use serde_json::json;

#[test]
fn probe() {
    with_sandbox(|s| {
        let flaky = s.mcp_server("flaky");
        flaky.set("lookup", end_to_end::mcp_server::Behaviour::Exit);
        let rec = s.scratch().join("rec");
        std::fs::create_dir_all(&rec).unwrap();
        let mut hooks: Vec<_> = ["SessionStart","UserPromptSubmit","PreToolUse","PostToolUse","PostToolUseFailure","PostToolBatch","Stop","StopFailure","SessionEnd"].iter().map(|e| RawHook::recording(e, &rec)).collect();
        hooks.push(RawHook::printing("PostToolUse", &json!({"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"good context"}})));
        hooks.push(RawHook::printing("PostToolUseFailure", &json!({"decision":"allow","hookSpecificOutput":{"additionalContext":"bad context"}})));
        hooks.push(RawHook::shell("PostToolUse", "exit 127"));
        hooks.push(RawHook::shell("PostToolUse", "echo oops >&2; exit 1"));
        hooks.push(RawHook::shell("PostToolUse", "sleep 5").timeout_s(1));
        hooks.push(RawHook::shell("PostToolUse", "kill -9 $$"));
        hooks.push(RawHook::program("PostToolUse", std::path::Path::new("/no/such/thing"), &[]));
        hooks.push(RawHook::shell("PostToolUse", "exit 0"));
        hooks.push(RawHook::shell("PostToolUse", "echo async-noise; exit 0").in_background());
        s.wire_raw(hooks);
        s.api.script([call(bash("echo hi")), call(mcp("flaky", "lookup")), call(edit("/nope","a","b")), text("bye")]);
        let run = s.run_print("Begin", &[]);
        println!("{:?} {} {}", run.elapsed, run.stdout, run.stderr);
        for r in s.api.all_requests() { println!("{:?} {} {} {:?} {}", r.sender, r.method, r.path, r.headers, r.model()); println!("   {}", r.new_text()); println!("{:?}", r.new_contexts()); }
        println!("{}", s.debug_logs()[0].text());
        println!("=== {:#?}", s.hook_errors());
        for t in s.transcripts() { for l in t.lines { println!("T {l}"); } }
        for e in ["PostToolUseFailure","PostToolBatch"] { println!("{:?}", s.recorded(&rec, e)); }
    });
}
