package permission

func (h *hearing) hearCommand() {}

var interpreters = map[string]bool{}

func firstWord(s string) string { return s }
