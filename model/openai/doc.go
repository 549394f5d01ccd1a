// Package openai is a client of OpenAI's chat completions, which is what local
// servers (Ollama, vLLM, llama.cpp, LM Studio) and most gateways speak.
//
//	m := openai.New(openai.FromEnv(os.Getenv))
//	for ev, err := range m.Stream(ctx, req) { … }
//
// Servers differ from OpenAI's own and from one another, so answers are read
// with tolerance: calls without an index or in one piece, arguments that are
// objects, streams without their last line, thoughts under several names.
//
// Each message of a history is translated once. What the API has no words for is
// left out: thoughts of earlier turns and cache marks.
//
// A [Client] is safe for concurrent use; nothing needs to be closed. It sends the
// conversation and the key to the configured address, through the proxy that the
// environment names, and believes what comes back to be the model's words, and
// no more than that.
package openai
