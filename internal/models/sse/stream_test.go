package sse

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func call(url string, client *http.Client) *Call {
	b := NewBody(2)
	b.Add([]byte(`{"a":`))
	b.Add([]byte(`1}`))
	return &Call{Client: client, URL: url, Header: http.Header{}, Body: b, Idle: time.Minute, FirstByte: time.Minute}
}

// drain reads a stream to its end.
func drain(t *testing.T, s *Stream) (said []string) {
	t.Helper()
	for {
		ev, err := s.Next()
		if err == io.EOF {
			return said
		}
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, string(ev.Data))
	}
}

func TestHTTP2(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+r.Proto+" "+string(body)+"\n\n")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "data: 2\n\n")
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	for range 3 {
		s, err := call(srv.URL, srv.Client()).Post(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{`HTTP/2.0 {"a":1}`, "2"}, drain(t, s)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		s.Close()
	}
}

func TestCertificatesThatNobodyKnowsAreNotTriedAgain(t *testing.T) {
	srv := httptest.NewTLSServer(http.NotFoundHandler())
	defer srv.Close()
	_, err := call(srv.URL, newClient()).Post(context.Background())
	if e, ok := err.(interface{ Temporary() bool }); !ok || e.Temporary() || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}

// A server that does not end its answer must not hold up whoever has it all.
func TestCloseDoesNotWait(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-release
	}))
	defer srv.Close()
	defer close(release)
	s, err := call(srv.URL, newClient()).Post(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	s.Close()
	if took := time.Since(start); took > lastCall/2 {
		t.Errorf("it took %v", took)
	}
}

func TestKeysStayWhereTheyAreSent(t *testing.T) {
	srv := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusTemporaryRedirect))
	defer srv.Close()
	_, err := call(srv.URL, newClient()).Post(context.Background())
	if err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:1/") {
		t.Errorf("got %v", err)
	}
}

// The environment is read once in a process, so another one asks.
func TestProxy(t *testing.T) {
	if os.Getenv("HAFT_TEST_PROXY") != "" {
		s, err := call("http://model.example/v1", newClient()).Post(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if diff := cmp.Diff([]string{"through"}, drain(t, s)); diff != "" {
			t.Error(diff)
		}
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.URL.String() == "http://model.example/v1" {
			_, _ = io.WriteString(w, "data: through\n\n")
		}
	})}
	go func() { _ = proxy.Serve(ln) }()
	defer proxy.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestProxy$")
	cmd.Env = append(os.Environ(), "HAFT_TEST_PROXY=1", "HTTP_PROXY=http://"+ln.Addr().String(), "NO_PROXY=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
