package settings

// SandboxRequired reports whether commands must not run unless they are confined
// (sandbox.enabled with sandbox.failIfUnavailable), and which file says so.
func (s *Settings) SandboxRequired() (Origin, bool) {
	if !s.Flag("sandbox", "enabled") || !s.Flag("sandbox", "failIfUnavailable") {
		return Origin{}, false
	}
	v, _ := s.Lookup("sandbox", "failIfUnavailable")
	return v.Origin, true
}
