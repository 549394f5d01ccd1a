// Package script is a scripted model: a scenario or a Go function, served on loopback over
// real HTTP with real server-sent events, as the Messages API and as OpenAI's chat completions
// and Responses APIs. Demos, tests and benchmarks use it to drive the real clients. It can
// also simulate server faults.
//
//	srv, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: []script.Turn{
//		{Blocks: []script.Block{{Tool: "Read", Input: json.RawMessage(`{"file_path":"/a"}`)}}},
//		{Blocks: []script.Block{{Text: "It is empty."}}},
//	}}})
//	defer srv.Close()
//	… ANTHROPIC_BASE_URL=srv.URL() …
//
// It has no intelligence, and says so: every answer has the header X-Haft-Scripted, and gives
// a model name that begins with "scripted".
//
// A [Server] is safe for concurrent use; the caller closes it. It listens on loopback only and
// accepts any key. Any user of the machine can talk to it, so a scenario must not contain
// secrets.
package script
