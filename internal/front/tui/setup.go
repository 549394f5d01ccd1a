package tui

import (
	"context"
	"time"
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

// setUp asks which model answers. If one is needed and the user does not want to choose it
// now, they are told how to be asked again.
func (a *app) setUp(needed bool) {
	a.pop(a.whole(&choices{
		close: func() { a.noModel(needed) }, keys: true,
		title: a.t("Which model should answer?"), body: []string{a.t("haft tests it with one small request and saves it in ~/.haft/credentials.json, which only you can read.")},
		items: []string{a.t("Claude, with an Anthropic API key"), a.t("A model on this machine or on my own server (Ollama, llama.cpp, vLLM, LM Studio…)"), a.t("Later")},
		choose: func(i int) {
			switch i {
			case 0:
				a.setUpWith(needed, []field{{name: anthropicKey, label: a.t("API key"), help: a.t("from console.anthropic.com; it is not shown as you type"), secret: true, required: true}})
			case 1:
				a.setUpWith(needed, []field{
					{name: serverURL, label: a.t("Address"), help: a.t("address of the chat completions API"), value: "http://localhost:11434/v1", required: true},
					{name: serverModel, label: a.t("Model"), help: a.t("the name that the server uses, such as qwen3"), required: true},
					{name: serverKey, label: a.t("Key"), help: a.t("leave it empty if the server needs none"), secret: true},
				})
			default:
				a.closeOwn()
			}
		},
	}))
}

// setUpWith asks for the fields, tries them and keeps them. Esc goes back to the question
// before it.
func (a *app) setUpWith(needed bool, fields []field) {
	var f *form
	f = newForm(a.t("Which model should answer?"), nil, fields, func(values map[string]string) {
		f.problem = a.t("asking the model…")
		a.dirty = true
		go func() {
			ctx, cancel := context.WithTimeout(a.ctx, 30*time.Second)
			defer cancel()
			answer, err := a.opts.Setup.Try(ctx, values)
			if err == nil {
				err = a.opts.Setup.Keep(values)
			}
			a.later(func() { a.settled(f, answer, err) })
		}()
	})
	f.back, f.close = func() { a.setUp(needed) }, func() { a.noModel(needed) }
	a.pop(f)
}

// noModel says how to be asked again, if a model is needed.
func (a *app) noModel(needed bool) {
	if needed {
		a.note(a.t("No model is set up yet. To see haft work without one, run haft demo in your shell.") + "\n" + a.nowhere())
	}
}

func (a *app) settled(f *form, answer string, err error) {
	a.dirty = true
	if err != nil {
		f.again(a.t("that did not work: %s", err))
		return
	}
	f.close = nil
	a.closeOwn()
	a.show.add(&note{text: a.t("The model answered: %s", answer), quiet: true})
	if a.talk != nil {
		a.reopen()
		return
	}
	a.open(a.opts.First)
}
