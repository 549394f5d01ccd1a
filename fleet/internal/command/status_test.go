package command

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/haftdev/haft/fleet/internal/runs"
)

// A server whose disk is full is alive and not ready, so that it is not started again and again.
func TestAFullDiskIsNotReady(t *testing.T) {
	for full, want := range map[bool]int{true: http.StatusServiceUnavailable, false: http.StatusOK} {
		w := httptest.NewRecorder()
		(&status{full: func() bool { return full }}).ready(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if w.Code != want {
			t.Errorf("full %v: %d %s", full, w.Code, w.Body)
		}
	}
}

// Metrics name tenants: on the network they are sent with TLS, to who has the token.
func TestMetricsOnTheNetwork(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		if err := (&status{}).serve(t.Context(), listen, "", ""); err == nil || !strings.Contains(err.Error(), "without TLS") {
			t.Errorf("%s: %v", listen, err)
		}
	}
	s := &status{token: "secret"}
	for header, want := range map[string]int{"": http.StatusUnauthorized, "Bearer wrong": http.StatusUnauthorized, "Bearer secret": http.StatusOK} {
		w, q := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
		q.Header.Set("Authorization", header)
		if s.metrics(w, q); w.Code != want {
			t.Errorf("%q: %d", header, w.Code)
		}
	}
}

// A tenant that cannot be asked does not hide how the others are.
func TestMetricsOfATenantThatIsAway(t *testing.T) {
	w := httptest.NewRecorder()
	writeMetrics(w, httptest.NewRequest(http.MethodGet, "/metrics", nil), []tenantConn{{name: "red", index: runs.NewIndex(nil)}, {name: "blue", index: runs.NewIndex(nil)}})
	for _, want := range []string{`haft_up{tenant="red"} 0`, `haft_up{tenant="blue"} 0`} {
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d, no %s:\n%s", w.Code, want, w.Body)
		}
	}
}
