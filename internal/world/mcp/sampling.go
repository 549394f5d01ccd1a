package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

//lint:file-ignore SA1019 what the newer era gives up is still spoken

type samplingKey struct{}

// defaultSamplingTokens is what a server may ask for where nothing is set.
const defaultSamplingTokens = 10_000

func samplingResult(res SamplingResult) (*sdk.CreateMessageWithToolsResult, error) {
	content := bytes.TrimSpace(res.Content)
	if len(content) > 0 && content[0] != '[' {
		content = append(append([]byte{'['}, content...), ']')
	}
	wire, err := json.Marshal(map[string]any{"role": "assistant", "model": res.Model, "stopReason": res.StopReason, "content": json.RawMessage(content)})
	if err != nil {
		return nil, fmt.Errorf("encode the model's answer: %w", err)
	}
	r := new(sdk.CreateMessageWithToolsResult)
	return r, json.Unmarshal(wire, r)
}

// consent asks the user, once per server.
func (p *peer) consent(ctx context.Context, opts *Sampling) error {
	p.mu.Lock()
	known := p.consented
	p.mu.Unlock()
	if known == nil {
		if opts.Consent == nil || opts.Create == nil {
			return errors.New("sampling was not approved")
		}
		yes, err := opts.Consent(ctx, p.name)
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.consented, known = &yes, &yes
		p.mu.Unlock()
	}
	if !*known {
		return errors.New("sampling was not approved")
	}
	return nil
}

// spend takes tokens from the server's budget.
func (p *peer) spend(opts *Sampling, tokens int) error {
	budget := opts.MaxTokens
	if budget == 0 {
		budget = defaultSamplingTokens
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if tokens <= 0 || p.sampled+tokens > budget {
		return fmt.Errorf("the sampling budget has %d of %d tokens left; %d were requested", budget-p.sampled, budget, tokens)
	}
	p.sampled += tokens
	return nil
}

func (p *peer) enterSampling() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sampling || p.nested > 0 {
		return false
	}
	p.sampling = true
	return true
}

func (p *peer) leaveSampling() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sampling = false
}
