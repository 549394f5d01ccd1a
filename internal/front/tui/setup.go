package tui

import (
	"context"
)

// A Setup is how a person who starts haft for the first time says which model
// answers.
type Setup interface {
	// Needed reports whether an error of opening means that no model is set up.
	Needed(error) bool
	// Try makes a small request with the variables that the person gave.
	Try(ctx context.Context, env map[string]string) (answer string, err error)
	// Keep uses them from now on.
	Keep(env map[string]string) error
}

// The variables that a person is asked for; see package internal/models/provider.
const (
	anthropicKey = "ANTHROPIC_API_KEY"
	serverURL    = "OPENAI_BASE_URL"
	serverKey    = "OPENAI_API_KEY"
	serverModel  = "OPENAI_MODEL"
)
