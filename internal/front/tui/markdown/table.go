package markdown

// An alignment is where the text of a column's cells stands.
type alignment string

// before is how much of the room that is left goes before the text.
func (a alignment) before(room int) int {
	switch a {
	case "center":
		return room / 2
	case "right":
		return room
	}
	return 0
}
