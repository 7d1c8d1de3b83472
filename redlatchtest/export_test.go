package redlatchtest

// Dropped is how many messages did not arrive.
func (s *Server) Dropped() int { return s.proxy.DroppedMessages() }

// Seen is how many commands of this name have come from clients.
func (s *Server) Seen(command string) int { return s.proxy.Seen(command) }
