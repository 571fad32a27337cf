"""torch.distributed carried out by gangsim: process groups, stores, and the redirection to them."""
