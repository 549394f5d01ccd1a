package tui

// A todo is a line of the model's list.
type todo struct {
	Content string `json:"content"`
	Active  string `json:"activeForm"`
	Status  string `json:"status"`
}
