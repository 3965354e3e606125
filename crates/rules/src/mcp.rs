//! What the error text of an MCP call says about its server.
//!
//! Only the *shape* of a transport error counts: after well-known wrappers (`MCP error -32000:`, `TypeError:`,
//! `Error POSTing to endpoint (HTTP 502):` and the like) the text has to begin with what a transport says, and that
//! has to end there or go on as such messages do. A word anywhere in a sentence proves nothing.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{scan, text};

/// The class of an MCP error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpClass {
    /// The server was not reached, or went away during the call.
    Connection,
    /// The client says that it has no connection and will not make one: waiting is useless.
    NotConnected,
    /// No answer in time.
    Timeout,
    /// The server no longer knows our session.
    SessionExpired,
    /// A login or a permission is needed.
    Auth,
    /// Too many calls.
    RateLimited,
    /// Our arguments were wrong.
    Caller,
    /// The tool answered; the server is fine.
    Result,
}

impl McpClass {
    /// Returns the word of the `mcp-error` topic; [`McpClass::NotConnected`] is a `connection` there.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connection | Self::NotConnected => "connection",
            Self::Timeout => "timeout",
            Self::SessionExpired => "session_expired",
            Self::Auth => "auth",
            Self::RateLimited => "rate_limited",
            Self::Caller => "caller",
            Self::Result => "result",
        }
    }

    /// Returns whether the error counts toward the retry limit; `None` for those that go their own way.
    pub fn counts(self) -> Option<bool> {
        match self {
            Self::Connection | Self::NotConnected | Self::Timeout => Some(true),
            Self::SessionExpired | Self::RateLimited => None,
            Self::Auth | Self::Caller | Self::Result => Some(false),
        }
    }
}

/// What was read out of an error text.
#[derive(Debug, Clone, Copy)]
struct Reading<'a> {
    class: McpClass,
    /// A few words for advice, taken from the text; may be empty.
    cause: &'a str,
    /// The HTTP status that decided, if one did.
    status: Option<u32>,
    /// Something around the text marks it as an error: `Error:`, `MCP error N:`, an exception's name.
    wrapped: bool,
    /// The text itself can hardly be anything but a transport error.
    unmistakable: bool,
}

impl<'a> Reading<'a> {
    fn new(class: McpClass, cause: &'a str) -> Self {
        Self { class, cause, status: None, wrapped: false, unmistakable: false }
    }
}

/// Returns the class of an MCP error text.
pub fn classify(error: &str) -> McpClass {
    read(error).map_or(McpClass::Result, |reading| reading.class)
}

/// Returns whether the text of a *successful* call is in truth a transport error.
///
/// The sole exception to "words in a result mean nothing": the whole text is one line of at most 300 characters that
/// is a transport error by its shape, and something marks it as an error. `Connection closed` alone may well be the
/// answer of a tool that closes connections.
pub fn is_transport_error_result(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() || text.contains(['\n', '\r']) || text.chars().nth(300).is_some() {
        return false;
    }
    read(text).is_some_and(|reading| {
        matches!(reading.class, McpClass::Connection | McpClass::NotConnected | McpClass::Timeout)
            && (reading.wrapped || reading.unmistakable)
    })
}

/// Returns the server in the name of a tool: `S` of `mcp__S__T`.
///
/// Payloads name the server themselves; this is for those that do not.
pub fn server_of(tool: &str) -> Option<&str> {
    let (server, tool) = tool.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then_some(server)
}

/// Returns a few words that say why a call failed: `connection closed`, `ECONNREFUSED`, `timed out`, `HTTP 502`.
///
/// A text of no known shape is quoted, cut and redacted.
pub fn cause(error: &str) -> Cow<'_, str> {
    let line = scan::first_line(error);
    let Some(reading) = read(error) else {
        return if line.is_empty() { "no error text".into() } else { text::quoted(line, 60).into() };
    };
    let outage = matches!(reading.class, McpClass::Connection | McpClass::Timeout);
    if let Some(code) = outage.then(|| errno_in(line)).flatten() {
        return code.into();
    }
    match reading {
        Reading { status: Some(status), .. } => format!("HTTP {status}").into(),
        Reading { class: McpClass::Timeout, .. } => "timed out".into(),
        Reading { cause: "", .. } => text::quoted(line, 60).into(),
        Reading { cause, .. } if cause.bytes().any(|b| b.is_ascii_uppercase()) => {
            cause.to_ascii_lowercase().into()
        }
        Reading { cause, .. } => cause.into(),
    }
}

/// Reads the first line that says something.
fn read(error: &str) -> Option<Reading<'_>> {
    let mut line = scan::first_line(error);
    line = scan::strip_prefix(line, "<tool_use_error>").unwrap_or(line);
    if let Some(raised) = raised_by_tool(line) {
        // The server ran the tool, so nothing that it raised is an outage of the server.
        return body(raised, false, false).filter(|reading| reading.class == McpClass::Caller);
    }
    let mut wrapped = false;
    let mut transport = false;
    let mut rpc_code = None;
    let mut named: Option<Reading<'_>> = None;
    // Wrappers nest: an exception's name around a JSON-RPC code around a system call. The bound is a safeguard.
    for _ in 0..8 {
        if let Some(reading) = server_statement(line) {
            return Some(reading);
        }
        let Some(peeled) = peel(line) else { break };
        wrapped = true;
        transport |= peeled.transport;
        if let Some(code) = peeled.rpc_code {
            rpc_code = Some(code);
        }
        named = named.or_else(|| peeled.name.and_then(by_exception_name));
        if let Some(status) = peeled.status {
            return by_status(status, peeled.rest, true).map(|reading| Reading { wrapped: true, ..reading });
        }
        line = peeled.rest;
    }
    let reading = body(line, wrapped, transport).map(|reading| Reading { wrapped, ..reading });
    if let Some(code) = rpc_code {
        return by_code(code, reading);
    }
    reading.or(named.map(|reading| Reading { wrapped: true, ..reading }))
}

/// A JSON-RPC code: the specified ones prove an answer, those of implementations say what their text says.
fn by_code(code: i64, reading: Option<Reading<'_>>) -> Option<Reading<'_>> {
    match code {
        // "Session terminated" comes as an invalid request.
        -32600 | -32602 | -32601 | -32700 | -32002 => match reading {
            Some(reading) if reading.class == McpClass::SessionExpired => Some(reading),
            _ => Some(Reading { wrapped: true, ..Reading::new(McpClass::Caller, "") }),
        },
        // The server answered: its own connections are its own matter.
        -32603 => {
            reading.filter(|reading| !matches!(reading.class, McpClass::Connection | McpClass::Timeout))
        }
        _ => reading,
    }
}

/// What one wrapper told, and what it wraps.
struct Peeled<'a> {
    rest: &'a str,
    rpc_code: Option<i64>,
    status: Option<u32>,
    name: Option<&'a str>,
    transport: bool,
}

impl<'a> Peeled<'a> {
    fn new(rest: &'a str) -> Self {
        Self { rest: rest.trim_start(), rpc_code: None, status: None, name: None, transport: false }
    }
}

/// Wrappers that say where the error arose: in the transport itself.
const TRANSPORT_WRAPPERS: &[&str] = &[
    "sse error: ",
    "streamable http error: ",
    "transport error: ",
    "transport send error: ",
    "websocket error: ",
    "failed to send request: ",
    "failed to call tool: ",
    "failed to reconnect: ",
    "failed to connect: ",
    "mcp client error: ",
    "client error: ",
    "request failed: ",
    "http request failed: ",
    "connection failed: ",
    "connection error: ",
    "network error: ",
    "unhandled errors in a taskgroup: ",
    "stream error: ",
    "read error: ",
    "write error: ",
    "connect: ",
    "read: ",
    "write: ",
    "client is closing: ",
];

/// Removes one wrapper from the front.
fn peel(line: &str) -> Option<Peeled<'_>> {
    if let Some(rest) = scan::strip_prefix(line, "mcp error ") {
        let rest = rest.trim_start_matches('(');
        let end = rest.find([':', ')'])?;
        let code = rest[..end].trim().parse().ok()?;
        let rest = rest[end..].trim_start_matches([')', ':', ' ']);
        return Some(Peeled { rpc_code: Some(code), ..Peeled::new(rest) });
    }
    if let Some(rest) = scan::strip_prefix(line, "mcp error: ") {
        // `Mcp error: -32603: text`
        let end = rest.find(':').unwrap_or(0);
        return Some(match rest[..end].trim().parse() {
            Ok(code) => Peeled { rpc_code: Some(code), ..Peeled::new(&rest[end + 1..]) },
            Err(_) => Peeled::new(rest),
        });
    }
    if let Some(rest) = scan::strip_prefix(line, "error posting to endpoint") {
        let rest = rest.trim_start();
        if let Some((status, tail)) = scan::strip_prefix(rest, "(http ").and_then(scan::leading_number) {
            let tail = tail.trim_start_matches([')', ':', ' ']);
            return Some(Peeled { status: Some(status), transport: true, ..Peeled::new(tail) });
        }
        return Some(Peeled { transport: true, ..Peeled::new(rest.trim_start_matches([':', ' '])) });
    }
    for wrapper in TRANSPORT_WRAPPERS {
        if let Some(rest) = scan::strip_prefix(line, wrapper) {
            return Some(Peeled { transport: true, ..Peeled::new(rest) });
        }
    }
    if let Some(rest) = scan::strip_prefix(line, "error: ").or_else(|| scan::strip_prefix(line, "fatal: ")) {
        return Some(Peeled::new(rest));
    }
    // Go: `calling "tools/call": `, `Post "http://host/mcp": `, `dial tcp 127.0.0.1:80: `, `lookup host: `.
    for verb in ["calling \"", "post \"", "get \"", "delete \""] {
        if let Some(rest) = scan::strip_prefix(line, verb) {
            let (_, rest) = rest.split_once("\": ")?;
            return Some(Peeled { transport: true, ..Peeled::new(rest) });
        }
    }
    for verb in ["dial tcp", "dial unix", "read tcp", "write tcp"] {
        if let Some(rest) = scan::strip_prefix(line, verb) {
            // Without an address: `dial tcp: lookup host: ...`.
            let rest = rest.split_once(": ").map(|(_, rest)| rest)?;
            return Some(Peeled { transport: true, ..Peeled::new(rest) });
        }
    }
    if let Some(rest) = scan::strip_prefix(line, "lookup ") {
        let (_, reason) = rest.split_once(": ")?;
        return Some(Peeled { transport: true, ..Peeled::new(reason) });
    }
    if let Some(rest) = scan::strip_prefix(line, "rpc error: code = ") {
        let (code, rest) = rest.split_once(" desc =")?;
        return Some(Peeled { name: Some(code), transport: true, ..Peeled::new(rest) });
    }
    // Python and the operating systems: `[Errno 111] `, `[WinError 10061] `.
    if line.starts_with('[') && (scan::starts_with(line, "[errno ") || scan::starts_with(line, "[winerror "))
    {
        let (_, rest) = line.split_once("] ")?;
        return Some(Peeled { transport: true, ..Peeled::new(rest) });
    }
    peel_exception(line)
}

/// Removes the name of an exception: `TypeError: `, `httpx.ConnectError: `, `java.net.ConnectException: `.
fn peel_exception(line: &str) -> Option<Peeled<'_>> {
    let end =
        line.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$')).count();
    let name = line[..end].rsplit('.').next().unwrap_or("");
    let is_exception = ["Error", "Exception", "Timeout"].iter().any(|suffix| name.ends_with(suffix))
        && name.len() > "Error".len();
    let rest = &line[end..];
    if !is_exception {
        return None;
    }
    if let Some(rest) = rest.strip_prefix(':') {
        return Some(Peeled { name: Some(name), ..Peeled::new(rest) });
    }
    // `ClosedResourceError` or `ReadTimeout()` alone.
    matches!(rest.trim(), "" | "()").then_some(Peeled { name: Some(name), ..Peeled::new("") })
}

fn by_exception_name(name: &str) -> Option<Reading<'_>> {
    let class = match name {
        "ConnectError"
        | "ConnectionError"
        | "ConnectException"
        | "ConnectionRefusedError"
        | "ConnectionResetError"
        | "ConnectionAbortedError"
        | "BrokenPipeError"
        | "ClosedResourceError"
        | "BrokenResourceError"
        | "RemoteProtocolError"
        | "ServerDisconnectedError"
        | "ClientConnectorError"
        | "ConnectionClosedError"
        | "ReadError"
        | "WriteError"
        | "NetworkError"
        | "TransportError"
        | "Unavailable" => McpClass::Connection,
        "TimeoutError"
        | "ReadTimeout"
        | "ConnectTimeout"
        | "PoolTimeout"
        | "WriteTimeout"
        | "TimeoutException"
        | "SocketTimeoutException"
        | "HeadersTimeoutError"
        | "BodyTimeoutError"
        | "ConnectTimeoutError"
        | "DeadlineExceeded" => McpClass::Timeout,
        "UnauthorizedError" | "AuthenticationError" | "Unauthenticated" | "PermissionDenied" => {
            McpClass::Auth
        }
        "ResourceExhausted" | "RateLimitError" => McpClass::RateLimited,
        "ValidationError" | "ZodError" | "InvalidArgument" => McpClass::Caller,
        _ => return None,
    };
    let cause = match class {
        McpClass::Timeout => "timed out",
        McpClass::Caller => "",
        _ => name,
    };
    Some(Reading { wrapped: true, ..Reading::new(class, cause) })
}

/// The client's own statements about a server: `MCP server "X" ...`.
fn server_statement(line: &str) -> Option<Reading<'_>> {
    /// The client will not reach it by itself.
    const GONE: [&str; 12] = [
        "is not connected",
        "not connected",
        "is not available",
        "is unavailable",
        "is disabled",
        "is not configured",
        "not found",
        "failed to start",
        "failed to connect",
        "failed to reconnect",
        "could not be started",
        "did not start",
    ];
    const LOGIN: [&str; 6] = [
        "requires re-authorization",
        "requires authentication",
        "requires authorization",
        "requires re-authentication",
        "needs authentication",
        "needs authorization",
    ];
    const DOWN: [&str; 8] = [
        "not running",
        "disconnected",
        "crashed",
        "exited",
        "closed",
        "stopped",
        "terminated",
        "process exited",
    ];
    let reading = |class, cause| Some(Reading { unmistakable: true, ..Reading::new(class, cause) });

    if let Some(tool) = scan::strip_prefix(line, "no such tool available: ") {
        return if tool.starts_with("mcp__") {
            reading(McpClass::NotConnected, "no such tool")
        } else {
            None
        };
    }
    let rest = match scan::strip_prefix(line, "mcp server ") {
        Some(rest) => rest,
        None => scan::strip_prefix(line, "server ").filter(|rest| rest.starts_with(['"', '\'']))?,
    };
    let (_, rest) = name_and_rest(rest)?;
    let mut rest = rest.trim_start_matches([':', ' ']);
    // `tool "Y"` stands between the name and the statement.
    if let Some(after) = scan::strip_prefix(rest, "tool ") {
        rest = name_and_rest(after)?.1.trim_start_matches([':', ' ']);
    }
    for phrase in GONE {
        if scan::strip_prefix(rest, phrase).is_some_and(tail_fits) {
            return reading(McpClass::NotConnected, phrase.strip_prefix("is ").unwrap_or(phrase));
        }
    }
    if let Some(phrase) = LOGIN.into_iter().find(|phrase| scan::starts_with(rest, phrase)) {
        return reading(McpClass::Auth, phrase);
    }
    for filler in ["is ", "has ", "was "] {
        rest = scan::strip_prefix(rest, filler).unwrap_or(rest);
    }
    if let Some(phrase) = DOWN.into_iter().find(|p| scan::strip_prefix(rest, p).is_some_and(tail_fits)) {
        return reading(McpClass::Connection, phrase);
    }
    body(rest, true, true).map(|found| Reading { unmistakable: true, ..found })
}

/// What a server's framework says when a tool raised an error: the tool ran.
fn raised_by_tool(line: &str) -> Option<&str> {
    let rest = ["error executing tool ", "error calling tool ", "tool error: "]
        .iter()
        .find_map(|start| scan::strip_prefix(line, start))?;
    Some(rest.split_once(": ").map_or("", |(_, raised)| raised))
}

/// Splits `"X" rest`, `'X' rest` or `X rest`.
fn name_and_rest(text: &str) -> Option<(&str, &str)> {
    match text.chars().next()? {
        quote @ ('"' | '\'' | '`') => text[1..].split_once(quote),
        _ => Some(text.split_once([' ', ':']).unwrap_or((text, ""))),
    }
}

/// How a kind of transport error begins, and whether such a text alone is unmistakable.
struct Phrases {
    class: McpClass,
    unmistakable: bool,
    texts: &'static [&'static str],
}

/// Looked through in this order; the first that fits wins.
const PHRASES: [Phrases; 7] = [
    Phrases {
        class: McpClass::SessionExpired,
        unmistakable: false,
        texts: &[
            "unknown session",
            "session not found",
            "session expired",
            "session has expired",
            "session terminated",
            "session closed",
            "session invalid",
            "session is invalid",
            "session id not found",
            "session id is required",
            "invalid session",
            "missing session",
            "missing mcp-session-id",
            "no valid session",
            "no active session",
            "no session",
            "bad request: no valid session",
            "bad request: server not initialized",
            "bad request: mcp-session-id",
            "bad request: invalid session",
            "bad request: missing session",
            "server not initialized",
            "no transport found for session",
        ],
    },
    Phrases {
        class: McpClass::Auth,
        unmistakable: false,
        texts: &[
            "unauthorized",
            "unauthenticated",
            "forbidden",
            "not authenticated",
            "not authorized",
            "not logged in",
            "login required",
            "please log in",
            "authentication required",
            "authentication failed",
            "authentication error",
            "authorization required",
            "authorization failed",
            "needs authentication",
            "requires authentication",
            "requires re-authorization",
            "invalid_token",
            "invalid_grant",
            "invalid token",
            "invalid access token",
            "invalid or expired token",
            "invalid or missing api key",
            "invalid api key",
            "invalid authentication",
            "missing api key",
            "missing authorization",
            "invalid credentials",
            "bad credentials",
            "token expired",
            "token is expired",
            "token has expired",
            "token invalid",
            "access token expired",
            "access token has expired",
            "access token is expired",
            "the access token expired",
            "the access token is invalid",
            "jwt expired",
            "oauth token expired",
            "oauth token has expired",
            "oauth token revoked",
        ],
    },
    Phrases {
        class: McpClass::RateLimited,
        unmistakable: false,
        texts: &[
            "too many requests",
            "rate limit exceeded",
            "rate limit hit",
            "rate limit reached",
            "rate limited",
            "rate-limited",
            "rate limit error",
            "ratelimit exceeded",
            "api rate limit exceeded",
            "you have exceeded a secondary rate limit",
            "secondary rate limit",
            "quota exceeded",
            "throttled",
        ],
    },
    Phrases {
        class: McpClass::Caller,
        unmistakable: false,
        texts: &[
            "invalid params",
            "invalid parameter",
            "invalid parameters",
            "invalid argument",
            "invalid arguments",
            "invalid input",
            "invalid request",
            "input validation error",
            "validation error",
            "method not found",
            "unknown tool",
            "unknown method",
            "tool not found",
            "missing required",
            "missing parameter",
            "missing argument",
        ],
    },
    Phrases {
        class: McpClass::Timeout,
        unmistakable: false,
        texts: &[
            "request timed out",
            "request timeout",
            "connection timed out",
            "connection timeout",
            "connect timed out",
            "read timed out",
            "call timed out",
            "tool call timed out",
            "the read operation timed out",
            "operation timed out",
            "the operation timed out",
            "the operation has timed out",
            "the request timed out",
            "the operation was aborted due to timeout",
            "timed out",
            "timeout",
            "timeout exceeded",
            "timeout error",
            "maximum total timeout exceeded",
            "headers timeout error",
            "body timeout error",
            "connect timeout error",
            "context deadline exceeded",
            "deadline exceeded",
            "i/o timeout",
            "net/http: request canceled",
            "net/http: tls handshake timeout",
            "gateway timeout",
            "gateway time-out",
            "a connection attempt failed because the connected party did not properly respond",
        ],
    },
    Phrases {
        class: McpClass::Connection,
        unmistakable: true,
        texts: &[
            "the socket connection was closed",
            "all connection attempts failed",
            "an existing connection was forcibly closed",
            "an established connection was aborted",
            "no connection could be made",
            "the underlying connection was closed",
            "the remote party closed the websocket connection",
            "peer closed connection",
            "socket hang up",
            "fetch failed",
            "broken pipe",
            "the pipe has been ended",
            "the pipe is being closed",
            "transport closed",
            "transport is closed",
            "transport was closed",
            "transport has been closed",
            "transport channel closed",
            "transport not connected",
            "transport disconnected",
            "transport error",
            "server transport closed",
            "client transport closed",
            "cannot connect to host",
            "error sending request for url",
            "error trying to connect",
            "tcp connect error",
            "name or service not known",
            "temporary failure in name resolution",
            "could not resolve host",
            "getaddrinfo failed",
            "no such host is known",
        ],
    },
    Phrases {
        class: McpClass::Connection,
        unmistakable: false,
        texts: &[
            "not connected",
            "connection closed",
            "connection refused",
            "connection reset",
            "connection lost",
            "connection dropped",
            "connection aborted",
            "connection terminated",
            "connection interrupted",
            "connection error",
            "connection failed",
            "connection was closed",
            "connection was reset",
            "connection was lost",
            "connection was refused",
            "connection is closed",
            "connection has been closed",
            "connection to server lost",
            "connection to server closed",
            "socket closed",
            "websocket closed",
            "websocket connection closed",
            "websocket is not open",
            "websocket was closed",
            "stream closed",
            "stream disconnected",
            "failed to fetch",
            "network error",
            "network is unreachable",
            "no route to host",
            "host is unreachable",
            "server not running",
            "server is not running",
            "server not connected",
            "server disconnected",
            "server closed",
            "server exited",
            "server crashed",
            "server process exited",
            "client disconnected",
            "client not connected",
            "client is not connected",
            "process exited",
            "unable to connect",
            "could not connect",
            "couldn't connect",
            "cannot connect",
            "failed to connect",
            "bad gateway",
            "service unavailable",
            "self-signed certificate",
            "self signed certificate",
            "certificate has expired",
            "unable to verify the first certificate",
        ],
    },
];

/// Short texts that mean a broken connection only inside a wrapper of the transport or an exception.
const WRAPPED_PHRASES: [&str; 14] = [
    "eof",
    "unexpected eof",
    "terminated",
    "disconnected",
    "closed",
    "lost",
    "other side closed",
    "premature close",
    "no such host",
    "server misbehaving",
    "client is closing",
    "write after end",
    "use of closed network connection",
    "error reading a body from connection",
];

/// Reads what is left when all wrappers are off.
fn body(line: &str, wrapped: bool, transport: bool) -> Option<Reading<'_>> {
    let line = if wrapped { line.trim_start_matches(['(', '\'', '"', '[']) } else { line };
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    if let Some(reading) = system_call(line) {
        return Some(reading);
    }
    if let Some((status, rest)) = http_status(line) {
        return by_status(status, rest, transport);
    }
    if let Some(reading) = phrase(line) {
        return Some(reading);
    }
    if wrapped {
        for text in WRAPPED_PHRASES {
            if scan::strip_prefix(line, text).is_some_and(tail_fits) {
                return Some(Reading::new(McpClass::Connection, text));
            }
        }
    }
    // Python's requests library names its pool first.
    if scan::starts_with(line, "httpconnectionpool(") || scan::starts_with(line, "httpsconnectionpool(") {
        let class = if scan::contains(line, "timed out") { McpClass::Timeout } else { McpClass::Connection };
        return Some(Reading::new(class, "connection failed"));
    }
    if let Some((_, rest)) = scan::leading_number(line) {
        return scan::starts_with(rest, " validation error").then_some(Reading::new(McpClass::Caller, ""));
    }
    // `Tool x not found` is an answer to a wrong name.
    if scan::starts_with(line, "tool ") && scan::ends_with(line.trim_end_matches('.'), " not found") {
        return Some(Reading::new(McpClass::Caller, "tool not found"));
    }
    if scan::starts_with(line, "tool ") && scan::contains(line, " timed out after ") {
        return Some(Reading::new(McpClass::Timeout, "timed out"));
    }
    let subject =
        ["the ", "mcp ", "stdio ", "remote "].iter().find_map(|word| scan::strip_prefix(line, word))?;
    phrase(subject)
}

fn phrase(line: &str) -> Option<Reading<'_>> {
    for group in &PHRASES {
        for text in group.texts {
            let Some(tail) = scan::strip_prefix(line, text) else { continue };
            let fits = tail_fits(tail)
                || group.class == McpClass::Caller && tail.starts_with(' ')
                || group.class == McpClass::SessionExpired && scan::starts_with(tail, " id");
            // `Not connected to a database` is the answer of a tool that connects to things.
            let fits = fits && !(*text == "not connected" && scan::starts_with(tail, " to "));
            if fits {
                return Some(Reading { unmistakable: group.unmistakable, ..Reading::new(group.class, text) });
            }
        }
    }
    None
}

/// Whether what follows a phrase belongs to a transport's message: nothing, punctuation, or where and when it happened.
fn tail_fits(tail: &str) -> bool {
    const GO_ON: [&str; 20] = [
        "to",
        "at",
        "for",
        "from",
        "while",
        "when",
        "before",
        "after",
        "during",
        "waiting",
        "without",
        "with",
        "because",
        "due",
        "unexpectedly",
        "on",
        "via",
        "please",
        "and",
        "provided",
    ];
    const BY: [&str; 8] = ["peer", "remote", "server", "the", "host", "client", "foreign", "other"];
    let Some(first) = tail.chars().next() else { return true };
    if !first.is_whitespace() {
        return !first.is_alphanumeric() && !matches!(first, '_' | '-' | '/' | '\'' | '"');
    }
    let rest = tail.trim_start();
    let mut words = rest.split(|c: char| !c.is_alphanumeric());
    let Some(word) = words.next().filter(|word| !word.is_empty()) else { return true };
    let next = words.next().unwrap_or("");
    let is_in = |list: &[&str], word: &str| list.iter().any(|known| word.eq_ignore_ascii_case(known));
    is_in(&GO_ON, word)
        || word.eq_ignore_ascii_case("by") && is_in(&BY, next)
        || word.eq_ignore_ascii_case("of") && next.starts_with(|c: char| c.is_ascii_digit())
}

/// Error codes of system calls that mean an unreachable or lost peer.
const ERRNOS: [&str; 19] = [
    "ECONNREFUSED",
    "ECONNRESET",
    "ECONNABORTED",
    "EPIPE",
    "ENOTFOUND",
    "EAI_AGAIN",
    "EAI_FAIL",
    "EHOSTUNREACH",
    "EHOSTDOWN",
    "ENETUNREACH",
    "ENETDOWN",
    "ENOTCONN",
    "EADDRNOTAVAIL",
    "EPROTO",
    "UND_ERR_SOCKET",
    "ERR_STREAM_DESTROYED",
    "ETIMEDOUT",
    "ESOCKETTIMEDOUT",
    "UND_ERR_CONNECT_TIMEOUT",
];

fn errno(word: &str) -> Option<&'static str> {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    ERRNOS.into_iter().find(|code| *code == word)
}

/// The first error code anywhere in a line that is known to tell of an outage.
fn errno_in(line: &str) -> Option<&'static str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).find_map(errno)
}

/// `connect ECONNREFUSED 127.0.0.1:80`, `read ECONNRESET`, `spawn npx ENOENT`, or the code alone.
fn system_call(line: &str) -> Option<Reading<'static>> {
    const CALLS: [&str; 12] = [
        "connect",
        "read",
        "write",
        "getaddrinfo",
        "send",
        "recv",
        "accept",
        "shutdown",
        "queryA",
        "queryAaaa",
        "request",
        "socket",
    ];
    let mut words = line.split(' ');
    let first = words.next()?;
    let found = |code: &'static str| {
        let class = if code.ends_with("TIMEDOUT") || code.ends_with("TIMEOUT") {
            McpClass::Timeout
        } else {
            McpClass::Connection
        };
        Some(Reading { unmistakable: true, ..Reading::new(class, code) })
    };
    if let Some(code) = errno(first) {
        let tail = line.get(first.len()..).unwrap_or("");
        return if first.ends_with(':') || tail_fits(tail) { found(code) } else { None };
    }
    if CALLS.contains(&first) {
        return found(errno(words.next()?)?);
    }
    // The client could not start the server's program.
    if first == "spawn" && words.any(|word| matches!(word, "ENOENT" | "EACCES" | "EPERM")) {
        return Some(Reading {
            unmistakable: true,
            ..Reading::new(McpClass::Connection, "server program not started")
        });
    }
    None
}

/// The HTTP status with which a text begins in one of the usual ways, and what follows it.
fn http_status(line: &str) -> Option<(u32, &str)> {
    const INTRODUCTIONS: [&str; 24] = [
        "http error! status: ",
        "http error! status code: ",
        "http error! ",
        "http error: ",
        "http error ",
        "http status code ",
        "http status ",
        "http/1.1 ",
        "http/1.0 ",
        "http/2 ",
        "http ",
        "non-200 status code ",
        "status code: ",
        "status code ",
        "status: ",
        "request failed with status code ",
        "request failed with status: ",
        "request failed with status ",
        "unexpected status code: ",
        "unexpected status code ",
        "unexpected status ",
        "unexpected server response: ",
        "unexpected response: ",
        "the remote server returned an error: ",
    ];
    const REASONS: [(u32, &str); 13] = [
        (400, "bad request"),
        (401, "unauthorized"),
        (403, "forbidden"),
        (404, "not found"),
        (408, "request timeout"),
        (429, "too many requests"),
        (500, "internal server error"),
        (502, "bad gateway"),
        (503, "service unavailable"),
        (503, "service temporarily unavailable"),
        (504, "gateway timeout"),
        (504, "gateway time-out"),
        (407, "proxy authentication required"),
    ];
    let number = |text| scan::leading_number(text).filter(|(code, _)| (100..600).contains(code));
    for introduction in INTRODUCTIONS {
        if let Some(rest) = scan::strip_prefix(line, introduction) {
            let (code, rest) = number(rest.trim_start_matches(['(', ' ', '\'', '"']))?;
            return (!rest.starts_with(|c: char| c.is_alphanumeric())).then_some((code, rest));
        }
    }
    // Python's httpx: `Client error '401 Unauthorized' for url '...'`.
    for introduction in ["client error '", "server error '", "redirect response '"] {
        if let Some(rest) = scan::strip_prefix(line, introduction) {
            return number(rest);
        }
    }
    // `401 Unauthorized`, `502: Bad Gateway`: only with the reason that belongs to the number.
    let (code, rest) = number(line)?;
    let reason = rest.trim_start_matches([':', ' ', '-']);
    REASONS
        .into_iter()
        .any(|(known, text)| known == code && scan::starts_with(reason, text))
        .then_some((code, rest))
}

/// The class of an HTTP status. Without a `transport` wrapper the status may be what a tool met on its own way.
fn by_status(status: u32, rest: &str, transport: bool) -> Option<Reading<'_>> {
    let class = match status {
        400 | 404 | 410 if tells_of_session(rest) => McpClass::SessionExpired,
        401 | 403 | 407 => McpClass::Auth,
        429 => McpClass::RateLimited,
        408 | 504 | 524 => McpClass::Timeout,
        400 | 413 | 415 | 422 => McpClass::Caller,
        404 | 405 | 410 if transport => McpClass::Connection,
        500..=599 => McpClass::Connection,
        _ => return None,
    };
    Some(Reading { status: Some(status), ..Reading::new(class, "") })
}

fn tells_of_session(text: &str) -> bool {
    scan::contains(text, "session") || scan::contains(text, "server not initialized")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(class: McpClass, texts: &[&str]) {
        for text in texts {
            assert_eq!(classify(text), class, "{text}");
        }
    }

    #[test]
    fn a_lost_or_unreachable_server() {
        check(
            McpClass::Connection,
            &[
                "Connection closed",
                "Not connected",
                "MCP error -32000: Connection closed",
                "McpError: MCP error -32000: Connection closed",
                "connect ECONNREFUSED ::1:3001",
                "Error: connect ECONNREFUSED /run/x.sock",
                "ECONNRESET",
                "ECONNREFUSED: connection refused",
                "write EPIPE",
                "getaddrinfo ENOTFOUND mcp.example.com",
                "getaddrinfo EAI_AGAIN mcp.example.com",
                "spawn uvx ENOENT",
                "TypeError: fetch failed",
                "TypeError: terminated",
                "Error: socket hang up",
                "SSE error: TypeError: fetch failed: connect ECONNREFUSED 127.0.0.1:9",
                "SSE error: Non-200 status code (503)",
                "Streamable HTTP error: Error POSTing to endpoint: socket hang up",
                "Error POSTing to endpoint (HTTP 502): <html>bad gateway</html>",
                "Error POSTing to endpoint (HTTP 404): Cannot POST /mcp",
                "HTTP 503 Service Unavailable",
                "502 Bad Gateway",
                "Request failed with status code 500",
                "transport closed",
                "Transport has been closed",
                "MCP transport closed",
                "MCP client disconnected",
                "MCP server \"docs\" disconnected",
                "MCP server 'docs' is not running",
                "MCP server docs connection closed",
                "MCP server disconnected",
                "server is not running",
                "[Errno 111] Connection refused",
                "ConnectionRefusedError: [Errno 111] Connection refused",
                "BrokenPipeError: [Errno 32] Broken pipe",
                "[WinError 10061] No connection could be made because the target machine actively refused it",
                "An existing connection was forcibly closed by the remote host.",
                "httpx.ConnectError: All connection attempts failed",
                "httpx.RemoteProtocolError: Server disconnected without sending a response.",
                "anyio.ClosedResourceError",
                "ClosedResourceError()",
                "peer closed connection without sending complete message body (incomplete chunked read)",
                "Post \"http://localhost:9/mcp\": dial tcp 127.0.0.1:9: connect: connection refused",
                "dial tcp: lookup mcp.internal: no such host",
                "calling \"tools/call\": EOF",
                "read tcp 10.0.0.1:5->10.0.0.2:6: read: connection reset by peer",
                "rpc error: code = Unavailable desc = connection error: desc = \"transport: refused\"",
                "error sending request for url (http://localhost:9/mcp)",
                "HTTPConnectionPool(host='localhost', port=9): Max retries exceeded with url: /mcp",
                "Server error '502 Bad Gateway' for url 'https://mcp.example.com/mcp'",
                "Unable to connect. Is the computer able to access the url?",
                "connection closed: the server went away",
            ],
        );
    }

    #[test]
    fn what_the_client_itself_gave_up() {
        check(
            McpClass::NotConnected,
            &[
                "MCP server \"docs\" is not connected",
                "Error: MCP server \"docs\" is not connected",
                "MCP server 'my docs' is not connected.",
                "MCP server \"docs\" is disabled",
                "MCP server \"docs\" failed to start",
                "No such tool available: mcp__docs__find",
                "<tool_use_error>Error: No such tool available: mcp__docs__find</tool_use_error>",
            ],
        );
        check(McpClass::Result, &["No such tool available: Grep"]);
    }

    #[test]
    fn no_answer_in_time() {
        check(
            McpClass::Timeout,
            &[
                "MCP error -32001: Request timed out",
                "MCP server \"docs\" tool \"find\" timed out after 3s",
                "Timed out while waiting for response to ClientRequest. Waited 5.0 seconds.",
                "Request timed out",
                "TimeoutError: The operation was aborted due to timeout",
                "connect ETIMEDOUT 10.0.0.1:443",
                "timeout of 5000ms exceeded",
                "context deadline exceeded",
                "Post \"http://h/mcp\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
                "dial tcp 10.0.0.1:80: i/o timeout",
                "httpx.ReadTimeout",
                "504 Gateway Timeout",
                "Error POSTing to endpoint (HTTP 504): upstream",
                "rpc error: code = DeadlineExceeded desc = ",
                "Maximum total timeout exceeded",
            ],
        );
    }

    #[test]
    fn sessions_logins_and_rates() {
        check(
            McpClass::SessionExpired,
            &[
                "MCP error -32001: Session not found",
                "MCP error -32600: Session terminated",
                "Unknown session id 7",
                "Invalid session ID",
                "Error POSTing to endpoint (HTTP 404): {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"Session not found\"},\"id\":null}",
                "Error POSTing to endpoint (HTTP 400): Bad Request: No valid session ID provided",
                "MCP error -32000: Bad Request: Server not initialized",
                "session expired, please reconnect",
            ],
        );
        check(
            McpClass::Auth,
            &[
                "Error POSTing to endpoint (HTTP 401): {\"error\":\"invalid_token\"}",
                "HTTP 401 Unauthorized: token expired",
                "HTTP 403",
                "Unauthorized",
                "UnauthorizedError: Unauthorized",
                "MCP error -32001: Unauthorized",
                "MCP server \"docs\" requires re-authorization (token expired)",
                "Client error '401 Unauthorized' for url 'https://h/mcp'",
                "SSE error: Non-200 status code (401)",
                "invalid_grant",
                "request failed with status 403: no",
                "Authentication required: run the login command",
            ],
        );
        check(
            McpClass::RateLimited,
            &[
                "HTTP 429",
                "429 Too Many Requests",
                "Rate limit exceeded, retry in 20 seconds",
                "API rate limit exceeded for user ID 5.",
                "Error POSTing to endpoint (HTTP 429): slow down",
                "Too many requests",
            ],
        );
    }

    #[test]
    fn wrong_arguments_and_answers() {
        check(
            McpClass::Caller,
            &[
                "MCP error -32602: Invalid arguments for tool find: limit",
                "MCP error -32602: Tool find not found",
                "MCP error -32601: Method not found",
                "MCP error -32600: Invalid Request",
                "Invalid params",
                "Unknown tool: find",
                "Input validation error: 'q' is a required property",
                "1 validation error for findArguments",
                "Error executing tool find: 1 validation error for findArguments",
                "missing required parameter: owner",
            ],
        );
        check(
            McpClass::Result,
            &[
                "",
                "Command failed with no output",
                "No such issue",
                "Internal error: database locked",
                "MCP error -32603: connect ECONNREFUSED 127.0.0.1:5432",
                "Error executing tool query: connection refused",
                "Tool error: connection refused",
                "upstream service unavailable (503)",
                "The operation was aborted",
                "Comment 4: connection reset by the office router, says the user",
                "3 rows: ECONNRESET, EPIPE, ok",
                "Found ECONNREFUSED in the log",
                "ECONNREFUSED in 4 of 5 lines",
                "Connection refused by bank",
                "Navigation timeout of 30000 ms exceeded",
                "Timeout 30000ms exceeded.",
                "page.goto: Timeout 30000ms exceeded",
                "HTTP 404 Not Found",
                "Not connected to a database. Open one first.",
                "503 rows found",
                "401 files changed",
                "Unauthorized_access.md was not found",
                "timeouts: none",
                "forbidden word in line 3",
            ],
        );
    }

    #[test]
    fn only_a_marked_transport_error_counts_in_a_success() {
        for text in [
            "Error: transport closed",
            "connect ECONNREFUSED 127.0.0.1:9",
            "MCP server \"x\" disconnected",
            "MCP error -32000: Connection closed",
            "Error: Connection closed",
            "fetch failed",
            "  socket hang up\n",
            "Error: Request timed out",
        ] {
            assert!(is_transport_error_result(text), "{text}");
        }
        for text in [
            "Connection closed",
            "Not connected",
            "disconnected",
            "server is not running",
            "HTTP 503 Service Unavailable",
            "Unauthorized",
            "Error: Unauthorized",
            "Error: connection closed\nsecond line",
            "0 errors, transport closed normally after 3 s",
            "The page says: connect ECONNREFUSED",
            "",
        ] {
            assert!(!is_transport_error_result(text), "{text}");
        }
        let long = |n: usize| format!("{}{}", "connect ECONNREFUSED ", "x".repeat(n - 21));
        assert!(is_transport_error_result(&long(300)));
        assert!(!is_transport_error_result(&long(301)));
    }

    #[test]
    fn causes_are_a_few_words() {
        for (error, expected) in [
            ("MCP error -32000: Connection closed", "connection closed"),
            ("connect ECONNREFUSED 127.0.0.1:9", "ECONNREFUSED"),
            ("TypeError: fetch failed (ECONNRESET)", "ECONNRESET"),
            ("SSE error: Non-200 status code (502)", "HTTP 502"),
            ("MCP error -32001: Request timed out", "timed out"),
            ("MCP server \"d\" is not connected", "not connected"),
            ("fetch failed", "fetch failed"),
            ("No \"such\" thing\nmore", "\"No 'such' thing\""),
            ("", "no error text"),
        ] {
            assert_eq!(cause(error), expected, "{error}");
        }
    }

    #[test]
    fn the_server_is_between_the_first_two_marks() {
        for (tool, server) in [
            ("mcp__docs__find", Some("docs")),
            ("mcp__plugin_a_b__find__all", Some("plugin_a_b")),
            ("mcp__docs", None),
            ("mcp____find", None),
            ("mcp__docs__", None),
            ("Bash", None),
            ("xmcp__docs__find", None),
        ] {
            assert_eq!(server_of(tool), server, "{tool}");
        }
    }

    #[test]
    fn names_and_counting_agree() {
        assert_eq!(McpClass::NotConnected.name(), "connection");
        assert_eq!(McpClass::Timeout.counts(), Some(true));
        assert_eq!(McpClass::RateLimited.counts(), None);
        assert_eq!(McpClass::Auth.counts(), Some(false));
        for class in [McpClass::SessionExpired, McpClass::RateLimited, McpClass::Result] {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC{0,80}", prefix in 0_usize..6) {
            let prefix = ["", "MCP error -32000: ", "MCP server \"", "Error POSTing to endpoint (HTTP ", "[Errno ", "dial tcp "][prefix];
            let text = format!("{prefix}{text}");
            let _ = (classify(&text), cause(&text), is_transport_error_result(&text));
        }
    }
}
