package project

import "fmt"

// Confinable refuses a session whose settings demand a sandbox that cannot be
// had: a program that asked for one relies on it.
func (p *Project) Confinable() error {
	origin, required := p.Counts.SandboxRequired()
	if !required {
		return nil
	}
	return fmt.Errorf("sandbox required but unavailable: haft does not confine commands yet, and sandbox.failIfUnavailable is set in %s. Remove that setting to run commands without a sandbox", origin)
}
