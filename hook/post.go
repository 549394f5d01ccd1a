package hook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
)

// post sends the input to a URL and reads the answer like a command's output.
func (r *Runner) post(ctx context.Context, h *Hook, input []byte, run *Run) (Output, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(input))
	if err != nil {
		return Output{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range h.Headers {
		req.Header.Set(name, r.expand(h, value))
	}
	resp, err := r.opts.Client.Do(req)
	if err != nil {
		return Output{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput+1))
	if err != nil {
		return Output{}, fmt.Errorf("read its answer: %w", err)
	}
	run.Stdout = beginning(body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Output{}, fmt.Errorf("it answered %s", resp.Status)
	}
	if len(body) > maxOutput {
		run.Dropped = max(1, resp.ContentLength-maxOutput)
		return Output{}, fmt.Errorf("its answer exceeds the limit of %d bytes", maxOutput)
	}
	return parseOutput(body, h.Event, input)
}

// expand fills in the variables that the hook names.
func (r *Runner) expand(h *Hook, text string) string {
	return os.Expand(text, func(name string) string {
		if !slices.Contains(h.Env, name) {
			return ""
		}
		for _, v := range slices.Backward(r.opts.Environ) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	})
}
