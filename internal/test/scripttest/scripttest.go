// Package scripttest serves scripted models to tests: one in which haft sends a
// request that the Messages API would refuse fails, even if haft recovers from the
// refusal. Tests of such a recovery call [script.Serve] themselves.
package scripttest

import (
	"testing"

	"github.com/haftdev/haft/model/script"
)

// Serve starts a server as [script.Serve] does. The caller closes it.
func Serve(t testing.TB, o *script.Options) (*script.Server, error) {
	t.Helper()
	srv, err := script.Serve(o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		for _, why := range srv.Refused() {
			t.Errorf("the Messages API refuses a request: %s", why)
		}
	})
	return srv, nil
}
