package command

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A certificate of the server's own says nothing about a cluster's: certificates of a
// cluster are checked, always.
func TestAClusterIsNotTrustedUnseen(t *testing.T) {
	f := &serveFlags{nats: "tls://127.0.0.1:1", cert: "server.pem", certKey: "server.key", tenants: []string{"default"}}
	if err := f.run(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "--tls-ca") {
		t.Errorf("--nats with --tls-cert: %v", err)
	}
	for _, content := range []string{"", "not a certificate"} {
		file := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := authority(file); err == nil {
			t.Errorf("%q counts as an authority: %+v", content, c)
		}
	}
	if c, err := authority(""); c != nil || err != nil {
		t.Errorf("no file: %+v, %v", c, err)
	}
}
