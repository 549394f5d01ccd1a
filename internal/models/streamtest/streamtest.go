// Package streamtest plays recorded answers to a client of a provider, for tests.
package streamtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/haftdev/haft/model"
)

// transport answers every request with a function.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip reads the request to its end, as a server would.
func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return f(r)
}

// Playing is an HTTP client whose server sends what body returns, as a content type.
func Playing(kind string, body func() io.Reader) *http.Client {
	return &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(body())}, nil
	})}
}

// Collect returns the events of an answer, and the error that ended it.
func Collect(m model.Model, req *model.Request) ([]model.Event, error) {
	var events []model.Event
	for ev, err := range m.Stream(context.Background(), req) {
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// Recorded returns the answers in testdata/streams by name.
func Recorded(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/streams/*.sse")
	if err != nil || len(files) == 0 {
		t.Fatalf("no streams: %v", err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".sse")] = raw
	}
	return all
}

// Show writes events as the golden files have them.
func Show(events []model.Event) string {
	var b strings.Builder
	for _, ev := range events {
		raw, err := json.Marshal(ev)
		if err != nil {
			raw = fmt.Appendf(nil, "%+v", ev)
		}
		fmt.Fprintf(&b, "%s %s\n", strings.TrimPrefix(fmt.Sprintf("%T", ev), "model."), raw)
	}
	return b.String()
}
