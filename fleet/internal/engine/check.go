package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/haftdev/haft/internal/sys/loopback"
)

// CheckCluster asks the monitoring address of each server of a cluster whether it writes to
// the disk before it acknowledges, and whether others can reach it without a key or in the
// clear. One that does not loses acknowledged entries when the power fails, so it is refused.
func CheckCluster(ctx context.Context, monitors []string) error {
	if len(monitors) == 0 {
		return fmt.Errorf("cannot check how the servers write to the disk: give --monitor with the monitoring address of each server, such as http://10.0.0.1:8222")
	}
	for _, address := range monitors {
		if err := checkServer(ctx, address); err != nil {
			return fmt.Errorf("cannot use the server %s: %w", address, err)
		}
	}
	return nil
}

func checkServer(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/varz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("it does not answer: %w", wrapped.Err)
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var vars struct {
		Host         string `json:"host"`
		AuthRequired bool   `json:"auth_required"`
		TLSRequired  bool   `json:"tls_required"`
		MaxPayload   int    `json:"max_payload"`
		JetStream    struct {
			Config *struct {
				SyncAlways bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	if err := json.NewDecoder(res.Body).Decode(&vars); err != nil {
		return fmt.Errorf("could not read its settings: %w", err)
	}
	switch {
	case vars.JetStream.Config == nil:
		return fmt.Errorf("it has no JetStream: set jetstream { store_dir: … } in its configuration")
	case !loopback.Host(vars.Host) && !vars.AuthRequired:
		return fmt.Errorf("others can reach it without a key: define accounts with users in its configuration")
	case !loopback.Host(vars.Host) && !vars.TLSRequired:
		return fmt.Errorf("others can reach it without TLS: set tls { … } in its configuration")
	case vars.MaxPayload < maxPayload:
		return fmt.Errorf("it accepts messages of at most %d bytes: set max_payload: %d in its configuration", vars.MaxPayload, maxPayload)
	case !vars.JetStream.Config.SyncAlways:
		return fmt.Errorf("it acknowledges data that a power cut could lose: set jetstream { sync_interval: always } in its configuration")
	}
	return nil
}
