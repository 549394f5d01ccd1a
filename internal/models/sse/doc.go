// Package sse asks a model's server a question and reads the stream that comes
// back: what the clients of all providers have in common. It turns everything
// that can go wrong on the way into a [model.Error], watches for connections on
// which nothing comes, and leaves connections fit to be used again.
//
// A [Stream] belongs to one goroutine, which closes it.
package sse
