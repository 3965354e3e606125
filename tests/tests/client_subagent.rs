//! Real client: what fails in a subagent is told in the subagent's conversation.

use end_to_end::{
    fake_api::{agent, call, mcp, text},
    mcp_server::Behaviour,
    sandbox::Sandbox,
    stories,
};

const TASK: &str = "Collect the prices of the shop";

stories! { Default, Separate: a_subagent_has_its_own_streak }

/// The tool answers with an error of its own, so that only the streaks of the tool count, one for each agent.
fn a_subagent_has_its_own_streak(sandbox: &Sandbox) {
    sandbox.write(
        ".working-state/fallback-tools.md",
        "| tool | fallback | difference |\n| --- | --- | --- |\n| mcp__shop__scrape | WebFetch | no JavaScript |\n",
    );
    let shop = sandbox.mcp_server("shop");
    shop.set("scrape", Behaviour::ErrorResult("the page has an unknown layout".into()));
    let scrape = || call(mcp("shop", "scrape"));
    sandbox.api.script([scrape(), call(agent(TASK)), scrape(), text("That is all.")]);
    sandbox.api.script_for(TASK, [scrape(), scrape(), text("No prices.")]);

    let run = sandbox.run_print("How dear is it?", &[]);

    assert_eq!(run.result["result"], "That is all.", "{run:?}");
    let subagent = sandbox.api.requests_for(TASK);
    assert_eq!(subagent.len(), 3);
    assert!(subagent[1].contexts().is_empty(), "its first failure: {:?}", subagent[1].contexts());
    let told = subagent[2].new_advice("DEGRADATION");
    assert_eq!(told.len(), 1, "{:?}", subagent[2].contexts());
    assert!(told[0].contains("mcp__shop__scrape") && told[0].contains("WebFetch"), "{told:?}");

    let main = sandbox.api.requests();
    assert_eq!(main.len(), 4);
    for request in &main[..3] {
        assert!(
            request.contexts().is_empty(),
            "the main conversation has failed once: {:?}",
            request.contexts()
        );
    }
    assert_eq!(main[3].new_advice("DEGRADATION").len(), 1, "its own second: {:?}", main[3].contexts());
}
