// Package openai is a client of OpenAI's chat completions API, which local servers (Ollama,
// vLLM, llama.cpp, LM Studio) and most gateways also offer.
//
//	m := openai.New(openai.FromEnv(os.Getenv))
//	for ev, err := range m.Stream(ctx, req) { … }
//
// Servers differ from OpenAI's own and from one another, so answers are read
// with tolerance: calls without an index or in one piece, arguments that are
// objects, streams without their last line, thoughts under several names.
//
// Each message of a history is translated once. What the API cannot express is left out:
// thoughts of earlier turns and cache marks.
//
// A [Client] is safe for concurrent use; nothing needs to be closed. It sends the conversation
// and the key to the configured address, through the proxy that the environment names, and
// treats the response as the model's words and trusts nothing else in it.
package openai
