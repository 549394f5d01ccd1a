// Package strictapi judges requests to the Anthropic Messages API as the real
// server does, without a network: the shape of the body against a schema that is
// generated from the official SDK's types, and the rules that the server enforces
// beyond it.
//
// Every rule names where it is known from; see rules.go. What nobody has written
// down is not guessed at: a rule with basis [Assumed] is reported and refuses
// nothing. [Check] sees one request; whether thoughts come back as they were
// returned, and in the conversation in which they were thought, a [Memory] tells.
//
// It does not count tokens, does not verify signatures and reads no page of a PDF.
// schema/messages.schema.json names the version of the SDK that it is generated
// from. The functions are safe for concurrent use, and so is a Memory.
package strictapi
