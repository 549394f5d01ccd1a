package shellrun

// newRunner picks the supervisor where the program can be one.
func newRunner(r Reexec, noCgroup bool) baseRunner {
	if r.path == "" {
		return direct{}
	}
	return newSupervisor(r, noCgroup)
}
