package redlatchtest

// Dropped is how many messages did not arrive.
func (s *Server) Dropped() int { return s.proxy.DroppedMessages() }
