"""scikit-learn's conventions without importing scikit-learn: parameters are what the constructor takes."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from fieldcraft.errors import InputError, NotFittedError

Self = TypeVar("Self", bound="Estimator")


class Estimator:
    """get_params, set_params, repr, and tags on demand."""

    @classmethod
    def _parameter_names(cls) -> list[str]:
        """Named parameters of the constructor; ``*args`` and ``**kwargs`` are none, as in scikit-learn."""
        parameters = [*inspect.signature(cls.__init__).parameters.values()][1:]
        return [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the constructor with their current values."""
        del deep
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters; an unknown name raises an InputError."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise InputError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags  # type: ignore[import-untyped]

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, string=True, dict=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_parameters")

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} is not trained yet; call fit or load a model first"
            )
