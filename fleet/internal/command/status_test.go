package command

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/haftdev/haft/fleet/internal/runs"
)

// A server whose disk is full is alive and not ready, so that it is not started again and again.
func TestOnlyReadinessFollowsTheState(t *testing.T) {
	for why, want := range map[error]int{errors.New("the disk is full"): http.StatusServiceUnavailable, nil: http.StatusOK} {
		page := &statusPage{ready: func(context.Context) error { return why }, metrics: newRegistry()}
		for path, want := range map[string]int{"/readyz": want, "/livez": http.StatusOK} {
			w := httptest.NewRecorder()
			if page.handler(false).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)); w.Code != want {
				t.Errorf("%v: %s answers %d %s", why, path, w.Code, w.Body)
			}
		}
	}
}

// Metrics name tenants: on the network they are sent with TLS, to who has the token.
func TestMetricsOnTheNetwork(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		if err := (&statusPage{listen: listen}).serve(t.Context()); err == nil || !strings.Contains(err.Error(), "without TLS") {
			t.Errorf("%s: %v", listen, err)
		}
	}
	page := (&statusPage{token: "secret", metrics: newRegistry()}).handler(true)
	for header, want := range map[string]int{"": http.StatusUnauthorized, "Bearer wrong": http.StatusUnauthorized, "Bearer secret": http.StatusOK} {
		w, q := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
		q.Header.Set("Authorization", header)
		if page.ServeHTTP(w, q); w.Code != want {
			t.Errorf("%q: %d", header, w.Code)
		}
	}
}

// A tenant that cannot be asked does not hide how the others are.
func TestMetricsOfATenantThatIsAway(t *testing.T) {
	var conns []tenantConn
	for _, name := range []string{"red", "blue"} {
		conns = append(conns, tenantConn{name: name, index: runs.NewIndex(nil, 0, nil), metrics: newTenantMetrics()})
	}
	w := httptest.NewRecorder()
	(&statusPage{metrics: serverMetrics(nil, conns)}).handler(false).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{`haft_up{tenant="red"} 0`, `haft_up{tenant="blue"} 0`} {
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d, no %s:\n%s", w.Code, want, w.Body)
		}
	}
}
