package shellrun

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/haftdev/haft/internal/test/needtest"
	"github.com/haftdev/haft/internal/world/sandbox"
)

// The rules decide who is reached, and what was refused is known by its command.
func TestTheProxyLetsThroughWhatRulesAllow(t *testing.T) {
	needtest.Need(t, needtest.Namespaces, "curl")
	asBoth(t, func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Proxy-Authorization") != "" {
				t.Error("the pass of a command reaches a server")
			}
			_, _ = w.Write([]byte("hello " + r.Method + "\n"))
		}))
		defer server.Close()
		_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
		allowed, _ := strconv.Atoi(port)
		box := &sandbox.Spec{Network: sandbox.Proxied, Reach: func(host string, port int) error {
			if host == "127.0.0.1" && port == allowed || host == "localhost" {
				return nil
			}
			return errors.New("no rule allows it")
		}}
		s := newTestHost(t, nil).NewShell("/")
		// curl must not take the address for one of its own network.
		task := runBoxed(t, s, box, "unset no_proxy NO_PROXY; curl -sS "+server.URL+"/; curl -sS -p "+server.URL+"/; curl -sS http://Example.COM./x; curl -sS https://example.org/; curl -sS -o /dev/null -w '%{http_code}' http://localhost:"+port+"/")
		got := text(task)
		if !strings.HasPrefix(got, "hello GET\nhello GET\n") || !strings.Contains(got, "does not let this command reach example.com:80: no rule allows it") || !strings.HasSuffix(got, "403") {
			t.Errorf("output %q", got)
		}
		// A name that leads to a private address is refused although its name is allowed.
		if refused, want := task.Result().Status.Refused, []string{"example.com:80", "example.org:443", "localhost:" + port}; !slices.Equal(refused, want) {
			t.Errorf("refused %q, want %q", refused, want)
		}
		offline := &sandbox.Spec{Reach: box.Reach}
		task = runBoxed(t, s, offline, "unset no_proxy NO_PROXY; curl -sS "+server.URL+"/")
		if got := text(task); !strings.Contains(got, "it runs without network") || len(task.Result().Status.Refused) != 1 {
			t.Errorf("without network: %q, refused %q", got, task.Result().Status.Refused)
		}
		// Without its pass a command cannot use that of another.
		if got := text(runBoxed(t, s, offline, "unset no_proxy NO_PROXY; curl -sS -o /dev/null -w '%{http_code}' -x http://127.0.0.1:3128 "+server.URL+"/; curl -sS -o /dev/null -w '%{http_code}' -x http://haft:guess@127.0.0.1:3128 "+server.URL+"/")); got != "407407" {
			t.Errorf("without a pass: %q", got)
		}
	})
}

func TestTheNetworkOfTheMachine(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	s := newTestHost(t, nil).NewShell("/")
	if got := text(runBoxed(t, s, &sandbox.Spec{Network: sandbox.Open}, "exec 3<>/dev/tcp/127.0.0.1/"+port+" && echo reached; touch /etc/x 2>/dev/null || echo refused")); got != "reached\nrefused\n" {
		t.Errorf("output %q", got)
	}
}
