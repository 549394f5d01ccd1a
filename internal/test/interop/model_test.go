package interop_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/haftdev/haft/internal/test/scripttest"
	"github.com/haftdev/haft/model/script"
)

var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	if args := os.Getenv("INTEROP_PARENT_OF"); args != "" {
		beParent(strings.Split(args, "\n"))
	}
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// build builds the command, once.
func build(t testing.TB) string {
	if path := os.Getenv("HAFT_INTEROP_BINARY"); path != "" {
		return path
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "haft-interop-"); built.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(built.dir, "haft"), "github.com/haftdev/haft/cmd/haft").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("build haft: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "haft")
}

// models are the scripted models that cases have ordered.
type models struct {
	t    testing.TB
	mu   sync.Mutex
	list map[string]*script.Server
	next int
}

// serveModels lets cases order scripted models, and look at what they were asked.
func serveModels(t testing.TB) string {
	m := &models{t: t, list: make(map[string]*script.Server)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /models", m.add)
	mux.HandleFunc("GET /models/{id}", m.show)
	mux.HandleFunc("DELETE /models/{id}", m.remove)
	srv := httptest.NewServer(mux)
	t.Cleanup(func() {
		srv.Close()
		for _, s := range m.list {
			s.Close()
		}
	})
	return srv.URL
}

func (m *models) add(w http.ResponseWriter, r *http.Request) {
	var s script.Scenario
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(&s)
	var srv *script.Server
	if err == nil {
		srv, err = scripttest.Serve(m.t, &script.Options{Scenario: &s})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	id := fmt.Sprint(m.next)
	m.list[id] = srv
	_ = json.NewEncoder(w).Encode(map[string]string{"id": id, "url": srv.URL()})
}

func (m *models) show(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	srv := m.list[r.PathValue("id")]
	m.mu.Unlock()
	bodies := []json.RawMessage{}
	if srv != nil {
		for _, q := range srv.Requests() {
			bodies = append(bodies, q.Body)
		}
	}
	_ = json.NewEncoder(w).Encode(bodies)
}

func (m *models) remove(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	srv := m.list[r.PathValue("id")]
	delete(m.list, r.PathValue("id"))
	m.mu.Unlock()
	if srv != nil {
		srv.Close()
	}
}
