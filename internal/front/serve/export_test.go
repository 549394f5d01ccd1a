package serve

// Streams is how many event streams are open.
func (s *Server) Streams() int { return len(s.streams) }
