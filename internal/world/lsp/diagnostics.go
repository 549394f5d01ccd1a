package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// findings are what a server has reported about files.
type findings struct {
	mu      sync.Mutex
	reports int64
	files   map[string]*report
	changed chan struct{} // closed with the next report
}

type report struct {
	version *int
	number  int64 // which one it was
	at      time.Time
	list    []Diagnostic
}

// What is kept of a server's reports.
const (
	maxReported = 1000 // files
	maxPerFile  = 200
	maxText     = 1000 // bytes of one message
)

// published takes in a report.
func (f *findings) published(params json.RawMessage) {
	var p struct {
		URI         string       `json:"uri"`
		Version     *int         `json:"version"`
		Diagnostics []Diagnostic `json:"diagnostics"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	path := PathOf(p.URI)
	if path == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.files == nil {
		f.files = make(map[string]*report)
	}
	if f.files[path] == nil && len(f.files) >= maxReported {
		for other, r := range f.files {
			if len(r.list) == 0 || len(f.files) >= maxReported {
				delete(f.files, other)
			}
		}
	}
	f.reports++
	f.files[path] = &report{version: p.Version, number: f.reports, at: time.Now(), list: bounded(p.Diagnostics)}
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

func bounded(list []Diagnostic) []Diagnostic {
	list = list[:min(len(list), maxPerFile)]
	for i := range list {
		d := &list[i]
		if len(d.Message) > maxText {
			d.Message = strings.ToValidUTF8(d.Message[:maxText], "") + "…"
		}
		if d.Severity < SeverityError || d.Severity > SeverityHint { // a server need not say
			d.Severity = SeverityError
		}
	}
	return list
}

// about returns the newest report about a file and a channel that is closed with the
// next report about any.
func (f *findings) about(path string) (*report, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.files[path], f.changed
}

// count is how many reports have come.
func (f *findings) count() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reports
}

// current reports whether the report is about the file as it was last sent.
func (r *report) current(d document) bool {
	return r != nil && r.number > d.sent && (r.version == nil || *r.version >= d.version)
}

// quiet is how long a server that reports in parts may pause between them.
const quiet = 250 * time.Millisecond

// Diagnostics returns what the server finds wrong with a file as it is now. The server
// has until limit to say so; whole reports whether it has.
func (c *Client) Diagnostics(ctx context.Context, path string, limit time.Duration) (list []Diagnostic, whole bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not answer within %v", limit))
	defer cancel()
	c.refresh()
	doc, err := c.show(path)
	if err != nil {
		return nil, false, err
	}
	if c.pulls {
		var answer struct {
			Items []Diagnostic `json:"items"`
		}
		if err := c.call(ctx, "textDocument/diagnostic", about(path, nil), &answer); err != nil {
			return nil, false, err
		}
		list = bounded(answer.Items)
		if r, _ := c.found.about(path); r.current(doc) {
			list = append(list, slices.DeleteFunc(slices.Clone(r.list), func(d Diagnostic) bool {
				return slices.ContainsFunc(list, func(o Diagnostic) bool { return o.Message == d.Message && o.Range == d.Range })
			})...)
		}
		return list, true, nil
	}
	return c.awaitReport(ctx, path, doc)
}

// awaitReport waits for the report of a server that is not asked for it.
func (c *Client) awaitReport(ctx context.Context, path string, doc document) (list []Diagnostic, whole bool, err error) {
	for {
		r, next := c.found.about(path)
		var pause <-chan time.Time
		if whole = r.current(doc); whole {
			list, pause = r.list, time.After(quiet-time.Since(r.at))
		}
		select {
		case <-next:
		case <-pause:
			return list, true, nil
		case <-c.conn.closed:
			return nil, false, c.explain(ctx, c.conn.reason())
		case <-ctx.Done():
			if err := context.Cause(ctx); err == context.Canceled {
				return nil, false, err
			}
			return list, whole, nil
		}
	}
}
