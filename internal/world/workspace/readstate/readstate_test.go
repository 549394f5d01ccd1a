package readstate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/haftdev/haft/internal/world/workspace/readstate"
)

func TestRangesOfOneContentAddUp(t *testing.T) {
	s := readstate.New(nil)
	s.Put(readstate.Entry{Path: "/f", Hash: "a", Ranges: []readstate.Range{{10, 20}}, Base: []byte("x")})
	s.Put(readstate.Entry{Path: "/f", Hash: "a", Ranges: []readstate.Range{{1, 3}, {21, 30}}})
	e, _ := s.Get("/f")
	if d := cmp.Diff(readstate.Entry{Path: "/f", Hash: "a", Ranges: []readstate.Range{{1, 3}, {10, 30}}, Base: []byte("x")}, e); d != "" {
		t.Error(d)
	}
	s.Put(readstate.Entry{Path: "/f", Hash: "b", Ranges: []readstate.Range{{5, 6}}})
	e, _ = s.Get("/f")
	if d := cmp.Diff(readstate.Entry{Path: "/f", Hash: "b", Ranges: []readstate.Range{{5, 6}}}, e); d != "" {
		t.Errorf("another content starts anew\n%s", d)
	}
}

func TestBoundsHold(t *testing.T) {
	s := readstate.New(&readstate.Options{MaxFiles: 10, MaxBytes: 100, MaxFile: 40})
	for i := range 50 {
		s.Put(readstate.Entry{Path: fmt.Sprint(i), Hash: "h", Base: []byte(strings.Repeat("x", 30))})
		if n, b := s.Len(); n > 10 || b > 100 {
			t.Fatalf("%d files, %d bytes", n, b)
		}
	}
	if _, ok := s.Get("39"); ok {
		t.Error("the least recently used is still there")
	}
	if e, ok := s.Get("45"); !ok || e.Base != nil {
		t.Errorf("a content should go before its entry: %v %d", ok, len(e.Base))
	}
	if e, _ := s.Get("49"); e.Base == nil {
		t.Error("the newest content is gone")
	}
	s.Put(readstate.Entry{Path: "big", Hash: "h", Base: make([]byte, 41)})
	if e, ok := s.Get("big"); !ok || e.Base != nil {
		t.Error("a content over the limit is kept")
	}
	s.Forget("big")
	if _, ok := s.Get("big"); ok {
		t.Error("forgotten and still there")
	}
}

func TestStateSurvivesARestart(t *testing.T) {
	s := readstate.New(nil)
	when := time.Date(2026, 11, 15, 3, 0, 0, 0, time.UTC)
	for _, p := range []string{"/a", "/b"} {
		s.Put(readstate.Entry{Path: p, Hash: "h", Size: 3, ModTime: when, Encoding: "UTF-8", EOL: "LF", Ranges: []readstate.Range{{1, 2}}, Base: []byte("abc")})
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	again := readstate.New(&readstate.Options{MaxFiles: 1})
	if err := json.Unmarshal(b, again); err != nil {
		t.Fatal(err)
	}
	e, ok := again.Get("/b")
	want := readstate.Entry{Path: "/b", Hash: "h", Size: 3, ModTime: when, Encoding: "UTF-8", EOL: "LF", Ranges: []readstate.Range{{1, 2}}}
	if d := cmp.Diff(want, e); !ok || d != "" {
		t.Error(d)
	}
	if _, ok := again.Get("/a"); ok {
		t.Error("the bounds of the new state do not hold")
	}
	if err := json.Unmarshal([]byte(`{"x":1}`), again); err == nil {
		t.Error("garbage is accepted")
	}
}

func TestConcurrentUse(t *testing.T) {
	s := readstate.New(&readstate.Options{MaxFiles: 20, MaxBytes: 1000})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 300 {
				p := fmt.Sprint((i * j) % 40)
				s.Put(readstate.Entry{Path: p, Hash: "h", Ranges: []readstate.Range{{j, j + 1}}, Base: []byte("0123456789")})
				s.Get(p)
				if j%50 == 0 {
					if _, err := json.Marshal(s); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n, b := s.Len(); n > 20 || b > 1000 {
		t.Errorf("%d files, %d bytes", n, b)
	}
}
