"""What people say of a run's items: the questions they are asked, their labels, what follows."""
