package loopback_test

import (
	"testing"

	"github.com/haftdev/haft/internal/sys/loopback"
)

func TestHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "[::1]": false,
	} {
		if got := loopback.Host(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}
