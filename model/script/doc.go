// Package script is a model that says what it is told to: a scenario, or a Go
// function, served on loopback over real HTTP with real server-sent events, as
// the Messages API and as OpenAI's chat completions and Responses. Demos, tests and benchmarks
// drive the real clients with it, faults of a server included.
//
//	srv, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
//		{Blocks: []script.Block{{Tool: "Read", Input: json.RawMessage(`{"file_path":"/a"}`)}}},
//		{Blocks: []script.Block{{Text: "It is empty."}}},
//	}}})
//	defer srv.Close()
//	… ANTHROPIC_BASE_URL=srv.URL() …
//
// There is no intelligence in it, and it says so: every answer has the header
// X-Haft-Scripted, and names a model that begins with "scripted".
//
// A [Server] is safe for concurrent use; the caller closes it. It
// listens on loopback only, accepts any key, and any user of the machine can talk
// to it: what a scenario says is no secret.
package script
