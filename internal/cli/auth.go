package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/haftdev/haft/internal/config/keep"
	"github.com/haftdev/haft/internal/harness/project"
	"github.com/haftdev/haft/internal/models/provider"
	"github.com/haftdev/haft/internal/text/visible"
)

// authStatus reports how haft authenticates to a model, in the fields that programs expect
// from the official command line.
type authStatus struct {
	LoggedIn          bool   `json:"loggedIn"`
	Method            string `json:"authMethod"`
	Provider          string `json:"apiProvider"`
	KeySource         string `json:"apiKeySource,omitempty"`
	Server            string `json:"server,omitempty"`
	ProjectsDirectory string `json:"projectsDirectory"`
	ConfigDirectory   string `json:"configDirectory"`
}

func newAuth(s Streams) *cobra.Command {
	c := group(&cobra.Command{Use: "auth", Short: message("Show how haft authenticates to a model")})
	var text, asJSON bool
	status := &cobra.Command{
		Use: "status", Short: message("Show which API key is used and where it comes from; exit with 1 if there is none"), Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			st, err := authentication()
			if err != nil {
				return err
			}
			if text {
				st.write(s)
			} else if err := writeJSON(s.Out, st); err != nil {
				return err
			}
			if !st.LoggedIn {
				return codeError(1)
			}
			return nil
		},
	}
	status.Flags().BoolVar(&text, "text", false, "write plain text")
	status.Flags().BoolVar(&asJSON, "json", false, "write JSON (the default)")
	c.AddCommand(status)
	return c
}

// authentication finds the provider as a conversation would, without asking it anything.
func authentication() (authStatus, error) {
	sessions := keep.Sessions()
	st := authStatus{Method: "none", ProjectsDirectory: filepath.Join(sessions, "projects"), ConfigDirectory: sessions}
	p, err := project.Open(nil)
	if err != nil {
		return st, err
	}
	credentialsFile().use()
	env := p.ModelEnv()
	helper := env.Helper
	_, info, err := provider.Open(&provider.Options{Getenv: env.WithKey(helper.Run)})
	if errors.Is(err, provider.ErrNotConfigured) {
		return st, nil
	}
	if err != nil {
		return st, errors.Join(helper.Err, err)
	}
	st.LoggedIn, st.Provider, st.KeySource, st.Server = true, info.Provider, info.KeySource, info.Server
	if info.Provider == "anthropic" {
		st.Provider = "firstParty"
	}
	switch {
	case helper.Key != "" && info.KeySource == project.KeyVariable:
		st.Method, st.KeySource = "api_key_helper", "apiKeyHelper"
	case info.KeySource == "ANTHROPIC_AUTH_TOKEN":
		st.Method = "oauth_token"
	default:
		st.Method = "api_key"
	}
	return st, nil
}

func (st authStatus) write(s Streams) {
	if !st.LoggedIn {
		fmt.Fprintln(s.Out, "Not logged in. Set ANTHROPIC_API_KEY, or start haft in a terminal to choose a model.")
		return
	}
	fmt.Fprintf(s.Out, "API key: %s\nServer: %s\n", visible.Text(st.KeySource), visible.Text(st.Server))
}
