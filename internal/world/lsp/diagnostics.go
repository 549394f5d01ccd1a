package lsp

import (
	"encoding/json"
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
