//! A stdio MCP server that fails on demand: what `flaky-mcp` runs, and how a test steers it.
//!
//! The server reads its orders anew at each start and each call from the file named by [`CONTROL_VARIABLE`].

use std::{
    collections::BTreeMap,
    fs, io,
    io::{BufRead, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Environment variable that holds the path of the server's [`Orders`].
pub const CONTROL_VARIABLE: &str = "FLAKY_MCP_ORDERS";

/// The tools every such server has.
pub const TOOLS: [&str; 6] = ["lookup", "scrape", "search", "fetch", "index", "summarize"];

/// What the server does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// Whether it ends at once when started.
    #[serde(default)]
    pub refuse_to_start: bool,
    /// What a call of each tool does; a tool that is not named answers well.
    #[serde(default)]
    pub tools: BTreeMap<String, Behaviour>,
}

/// What a call of a tool does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    /// Answers with this text.
    Answer(String),
    /// Answers with this text and `isError`.
    ErrorResult(String),
    /// Answers with a JSON-RPC error.
    RpcError {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// Ends the server without an answer.
    Exit,
    /// Ends the server without an answer, and later starts too.
    ExitForGood,
    /// Leaves the call without an answer; other calls are served.
    Hang,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self::Answer("All is well.".into())
    }
}

/// A test's hand on a server.
#[derive(Clone, Debug)]
pub struct FlakyServer {
    name: String,
    orders: PathBuf,
}

impl FlakyServer {
    pub(crate) fn new(name: &str, folder: &Path) -> Self {
        let server = Self { name: name.to_owned(), orders: folder.join(format!("mcp-{name}.json")) };
        server.write(&Orders::default());
        server
    }

    /// Name under which the client knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets what calls of a tool do from now on.
    pub fn set(&self, tool: &str, behaviour: Behaviour) {
        assert!(TOOLS.contains(&tool), "the server has no tool {tool}; it has {TOOLS:?}");
        let mut orders = self.read();
        orders.tools.insert(tool.to_owned(), behaviour);
        self.write(&orders);
    }

    /// Sets what calls of every tool do from now on.
    pub fn set_all(&self, behaviour: &Behaviour) {
        for tool in TOOLS {
            self.set(tool, behaviour.clone());
        }
    }

    /// Sets whether later starts fail.
    pub fn refuse_to_start(&self, refuse: bool) {
        self.write(&Orders { refuse_to_start: refuse, ..self.read() });
    }

    /// Its entry in the client's MCP configuration.
    pub(crate) fn config(&self) -> Value {
        json!({
            "type": "stdio",
            "command": crate::build_folder().join("flaky-mcp"),
            "args": [],
            "env": { CONTROL_VARIABLE: self.orders },
        })
    }

    fn read(&self) -> Orders {
        read_orders(&self.orders).expect("the orders were written by this module")
    }

    fn write(&self, orders: &Orders) {
        write_orders(&self.orders, orders).expect("the sandbox is writable");
    }
}

fn read_orders(path: &Path) -> io::Result<Orders> {
    serde_json::from_slice(&fs::read(path)?).map_err(io::Error::other)
}

fn write_orders(path: &Path, orders: &Orders) -> io::Result<()> {
    let fresh = path.with_extension(format!("new-{}", std::process::id()));
    fs::write(&fresh, serde_json::to_vec(orders)?)?;
    fs::rename(fresh, path)
}

/// Why the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Its input ended.
    Input,
    /// It was told to.
    Ordered,
}

/// Serves requests, one a line, until the input or an order ends it.
pub fn serve(orders: &Path, input: impl BufRead, mut output: impl Write) -> io::Result<End> {
    if read_orders(orders)?.refuse_to_start {
        return Ok(End::Ordered);
    }
    for line in input.lines() {
        let Ok(request) = serde_json::from_str::<Value>(&line?) else { continue };
        let Some(id) = request.get("id") else { continue };
        let outcome = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "result": {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "flaky", "version": "1.0.0" },
            }}),
            "ping" => json!({ "result": {} }),
            "tools/list" => json!({ "result": { "tools": TOOLS.map(|name| json!({
                "name": name,
                "description": "A tool of the test server",
                "inputSchema": { "type": "object", "properties": {} },
            })) }}),
            "tools/call" => {
                let current = read_orders(orders)?;
                let tool = request["params"]["name"].as_str().unwrap_or_default();
                match current.tools.get(tool).cloned().unwrap_or_default() {
                    Behaviour::Answer(text) => {
                        json!({ "result": { "content": [{ "type": "text", "text": text }] } })
                    }
                    Behaviour::ErrorResult(text) => {
                        json!({ "result": { "isError": true, "content": [{ "type": "text", "text": text }] } })
                    }
                    Behaviour::RpcError { code, message } => {
                        json!({ "error": { "code": code, "message": message } })
                    }
                    Behaviour::Exit => return Ok(End::Ordered),
                    Behaviour::ExitForGood => {
                        write_orders(orders, &Orders { refuse_to_start: true, ..current })?;
                        return Ok(End::Ordered);
                    }
                    Behaviour::Hang => continue,
                }
            }
            _ => json!({ "error": { "code": -32601, "message": "method not found" } }),
        };
        let mut answer = outcome;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(End::Input)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(orders: &Orders, requests: &[Value]) -> (End, Vec<Value>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orders.json");
        write_orders(&path, orders).unwrap();
        let input: String = requests.iter().map(|request| format!("{request}\n")).collect();
        let mut output = Vec::new();
        let end = serve(&path, input.as_bytes(), &mut output).unwrap();
        (end, output.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    fn lookup() -> Value {
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "lookup" } })
    }

    #[test]
    fn a_tool_without_an_order_answers_well() {
        let (end, answers) =
            ask(&Orders::default(), &[json!({ "method": "notifications/initialized" }), lookup()]);
        assert_eq!(end, End::Input);
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0]["id"], 7);
        assert_eq!(answers[0]["result"]["content"][0]["text"], "All is well.");
    }

    #[test]
    fn an_ordered_exit_leaves_the_call_unanswered() {
        let orders = Orders { tools: [("lookup".to_owned(), Behaviour::Exit)].into(), ..Orders::default() };
        assert_eq!(ask(&orders, &[lookup()]), (End::Ordered, Vec::new()));
    }

    #[test]
    fn an_error_result_is_marked() {
        let orders = Orders {
            tools: [("lookup".to_owned(), Behaviour::ErrorResult("no".into()))].into(),
            ..Orders::default()
        };
        assert_eq!(ask(&orders, &[lookup()]).1[0]["result"]["isError"], true);
    }

    #[test]
    fn a_server_that_refuses_says_nothing() {
        let orders = Orders { refuse_to_start: true, ..Orders::default() };
        assert_eq!(ask(&orders, &[lookup()]), (End::Ordered, Vec::new()));
    }
}
